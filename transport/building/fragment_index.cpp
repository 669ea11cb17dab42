// SPDX-License-Identifier: Apache-2.0
#include "transport/building/fragment_index.hpp"

#include <array>
#include <cstring>

namespace l3 {
namespace {

constexpr std::uint32_t word_bytes = 2;

/// Bytes around the border of two boards that count in the digest.
constexpr std::uint32_t border_bytes = 2 * digested_bytes;

/// Reads a fragment. Offsets are even, and pieces begin at multiples of 4, so no word crosses two
/// pieces.
class piece_reader {
public:
  explicit piece_reader(const fragment_pieces& f) : fragment_(f) {}

  [[nodiscard]] std::uint32_t end() const { return fragment_.bytes; }

  [[nodiscard]] std::uint16_t word(std::uint32_t offset) const {
    return load_big<std::uint16_t>(at(offset));
  }

  std::uint32_t long_word(std::uint32_t offset) {
    return load_big<std::uint32_t>(bytes<sizeof(std::uint32_t)>(offset));
  }

  board_header header(std::uint32_t offset) {
    return board_header(bytes<board_header::bytes>(offset));
  }

  /// The sum that `count` bytes from `offset` add to the digest.
  template <std::uint32_t count>
  std::uint64_t digest(std::uint32_t offset) {
    const std::byte* from = bytes<count>(offset);
    std::uint64_t sum = 0;
    for (std::uint32_t b = 0; b < count; b += digested_bytes)
      sum += mixed_bytes(from + b, offset + b);
    return sum;
  }

private:
  /// Returns consecutive bytes in place, or copied if they cross two pieces.
  template <std::uint32_t count>
  const std::byte* bytes(std::uint32_t offset) {
    static_assert(count <= border_bytes);
    if (offset % fragment_.piece_bytes + count <= fragment_.piece_bytes) return at(offset);
    for (std::uint32_t b = 0; b < count; b += word_bytes)
      std::memcpy(joined_.data() + b, at(offset + b), word_bytes);
    return joined_.data();
  }
  [[nodiscard]] const std::byte* at(std::uint32_t offset) const {
    const std::uint32_t piece = offset / fragment_.piece_bytes;
    return fragment_.memory + fragment_.pieces[piece] + offset % fragment_.piece_bytes;
  }

  const fragment_pieces& fragment_;
  std::array<std::byte, border_bytes> joined_{};
};

bool is_wide_tag(std::uint16_t word, std::uint16_t tag) {
  return (word & l2::wide_tag_mask) == tag;
}
bool is_footer(std::uint16_t word) { return (word & l2::footer_tag_mask) == l2::footer_tag; }

/// The number of consecutive words from `offset` that satisfy `wanted`, `limit` at most and
/// excluding the crate trailer.
template <class Wanted>
std::uint32_t count_words(const piece_reader& reader, std::uint32_t offset, std::uint32_t end,
                          std::uint32_t limit, Wanted wanted) {
  std::uint32_t n = 0;
  while (n < limit && offset + n * word_bytes < end && wanted(reader.word(offset + n * word_bytes)))
    ++n;
  return n;
}

/// Length of the opaque board at `offset` with a valid header; 0 if it does not end before `end`.
std::uint32_t opaque_bytes(const piece_reader& reader, std::uint32_t offset, std::uint32_t end) {
  const auto is_compression = [](std::uint16_t w) { return is_wide_tag(w, l2::header_tag); };
  const auto is_sample = [](std::uint16_t w) { return is_wide_tag(w, l2::sample_tag); };
  std::uint32_t at = offset + board_header::bytes;
  at += word_bytes * count_words(reader, at, end, l2::max_compression_words, is_compression);
  const std::uint32_t samples = count_words(reader, at, end, l2::sample_words, is_sample);
  at += word_bytes * samples;
  if (count_words(reader, at, end, l2::footer_words, is_footer) != l2::footer_words) return 0;
  at += word_bytes * l2::footer_words;
  if (samples % 2 != 0) {
    if (at + word_bytes > end || reader.word(at) != 0) return 0;
    at += word_bytes;
  }
  return at - offset;
}

std::optional<malformed> check_ends(piece_reader& reader, event_key key) {
  constexpr std::uint32_t l1a_mask = l2::payload_mask;
  const std::uint32_t bytes = reader.end();
  if (bytes % word_bytes != 0 || bytes < l2::fragment_header_bytes + l2::fragment_trailer_bytes)
    return malformed::truncated;
  const std::uint32_t first = reader.long_word(0);
  if ((first & ~l1a_mask) != l2::fragment_header(0)) return malformed::crate_header;
  if (first != l2::fragment_header(key.number)) return malformed::wrong_l1a;
  return std::nullopt;
}

std::optional<malformed> check_header(const board_header& header, event_key key,
                                      std::uint32_t slot_before) {
  if (!header.tagged()) return malformed::header_tag;
  if (!header.is_of_event(key.number)) return malformed::wrong_l1a;
  if (header.spill() != key.spill) return malformed::wrong_spill;
  if (header.slot() <= slot_before || !header.slot_exists()) return malformed::wrong_slot;
  return std::nullopt;
}

} // namespace

fragment_index index_fragment(const fragment_pieces& fragment, const crate_readout& crate,
                              event_key key, std::span<board_entry> out) {
  piece_reader reader(fragment);
  fragment_index found;
  found.digest = fragment.bytes;
  const auto failed = [&found](malformed reason) {
    fragment_index nothing;
    nothing.problem = reason;
    nothing.digest = found.digest;
    return nothing;
  };
  if (const auto problem = check_ends(reader, key)) return failed(*problem);

  const std::uint32_t end =
      fragment.bytes - l2::fragment_trailer_bytes; // expected offset of the crate trailer
  std::uint32_t at = l2::fragment_header_bytes;
  std::uint32_t slot_before = 0;
  while (at < end) {
    if (found.boards == crate.boards) return failed(malformed::trailing_bytes);
    if (end - at < board_header::bytes) {
      const bool ends = reader.long_word(at) == l2::fragment_trailer;
      return failed(ends ? malformed::trailing_bytes : malformed::truncated);
    }
    const auto header = reader.header(at);
    if (header.begin() == l2::fragment_trailer) return failed(malformed::trailing_bytes);
    if (const auto problem = check_header(header, key, slot_before)) return failed(*problem);

    std::uint32_t bytes = l2::board_bytes;
    if (header.compressed()) {
      bytes = opaque_bytes(reader, at, end);
      found.opaque = true;
    } else if (!found.time) {
      found.time = header.time();
    }
    if (bytes == 0 || end - at < bytes) return failed(malformed::truncated);

    found.digest += found.boards == 0 ? reader.digest<digested_bytes>(at)
                                      : reader.digest<border_bytes>(at - digested_bytes);
    board_entry& board = out[found.boards++];
    board.offset = static_cast<std::uint16_t>(at);
    board.bytes = static_cast<std::uint16_t>(bytes);
    board.slot = static_cast<std::uint8_t>(header.slot());
    board.kind = crate.kind;
    board.opaque = header.compressed() ? 1 : 0;
    slot_before = header.slot();
    at += bytes;
  }
  if (reader.long_word(end) != l2::fragment_trailer) return failed(malformed::crate_trailer);
  if (found.boards != 0) found.digest += reader.digest<digested_bytes>(end - digested_bytes);
  return found;
}

} // namespace l3
