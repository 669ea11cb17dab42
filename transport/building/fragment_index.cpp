// SPDX-License-Identifier: Apache-2.0
#include "transport/building/fragment_index.hpp"

#include <array>
#include <cstring>

#include "transport/format/prescale.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t word_bytes = 2;
constexpr std::uint32_t header_bytes = l2::header_words * word_bytes;

/// Bytes at either end of a board that count in the digest. A board has at least 24.
constexpr std::uint32_t digested_bytes = 16;

/// Reads 16-bit words of a fragment at rising offsets, and steps from piece to piece instead of
/// dividing. Offsets are even, and pieces begin at multiples of 4, so no word lies across two
/// pieces.
class word_reader {
public:
  explicit word_reader(const fragment_pieces& f) : fragment_(f) {}

  [[nodiscard]] std::uint32_t end() const { return fragment_.bytes; }

  std::uint16_t word(std::uint32_t offset) {
    move_to(offset);
    return load_big<std::uint16_t>(here(offset));
  }

  std::uint32_t long_word(std::uint32_t offset) {
    const std::uint32_t high = word(offset);
    return high << 16 | word(offset + word_bytes);
  }

  board_header header(std::uint32_t offset) {
    board_header h;
    for (auto& w : h.words) {
      w = word(offset);
      offset += word_bytes;
    }
    return h;
  }

  /// A summand of the digest: the bytes from `offset` on, and where they stand.
  std::uint64_t digest(std::uint32_t offset) {
    move_to(offset);
    std::array<std::uint64_t, digested_bytes / sizeof(std::uint64_t)> halves;
    if (offset - start_ + digested_bytes <= fragment_.piece_bytes) {
      std::memcpy(halves.data(), here(offset), digested_bytes);
    } else {
      std::array<std::byte, digested_bytes> joined;
      for (std::uint32_t b = 0; b < digested_bytes; b += word_bytes) {
        move_to(offset + b);
        std::memcpy(joined.data() + b, here(offset + b), word_bytes);
      }
      std::memcpy(halves.data(), joined.data(), digested_bytes);
    }
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
    return mix_bits((halves[0] ^ offset) * odd + halves[1]);
  }

  /// Prefetches the memory at `offset`.
  void prefetch(std::uint32_t offset) {
    if (offset < fragment_.bytes) __builtin_prefetch(byte_at(offset));
  }

private:
  void move_to(std::uint32_t offset) {
    while (offset < start_) { // the bytes around a piece border are read twice
      start_ -= fragment_.piece_bytes;
      --piece_;
    }
    while (offset - start_ >= fragment_.piece_bytes) {
      start_ += fragment_.piece_bytes;
      ++piece_;
    }
  }
  [[nodiscard]] const std::byte* here(std::uint32_t offset) const {
    return fragment_.memory + fragment_.pieces[piece_] + (offset - start_);
  }
  [[nodiscard]] const std::byte* byte_at(std::uint32_t offset) const {
    std::uint32_t start = start_;
    std::uint32_t piece = piece_;
    while (offset - start >= fragment_.piece_bytes) {
      start += fragment_.piece_bytes;
      ++piece;
    }
    return fragment_.memory + fragment_.pieces[piece] + (offset - start);
  }

  const fragment_pieces& fragment_;
  std::uint32_t start_ = 0;
  std::uint32_t piece_ = 0;
};

bool is_wide_tag(std::uint16_t word, std::uint16_t tag) {
  return (word & l2::wide_tag_mask) == tag;
}
bool is_footer(std::uint16_t word) { return (word & l2::footer_tag_mask) == l2::footer_tag; }

/// How many words satisfy `wanted` from `offset` on: at most `limit`, none of the crate trailer.
template <class Wanted>
std::uint32_t count_words(word_reader& reader, std::uint32_t offset, std::uint32_t end,
                          std::uint32_t limit, Wanted wanted) {
  std::uint32_t n = 0;
  while (n < limit && offset + n * word_bytes < end && wanted(reader.word(offset + n * word_bytes)))
    ++n;
  return n;
}

/// Length of the opaque board at `offset`, whose header is good; 0 if it does not end before `end`.
std::uint32_t opaque_bytes(word_reader& reader, std::uint32_t offset, std::uint32_t end) {
  const auto is_compression = [](std::uint16_t w) { return is_wide_tag(w, l2::header_tag); };
  const auto is_sample = [](std::uint16_t w) { return is_wide_tag(w, l2::sample_tag); };
  std::uint32_t at = offset + header_bytes;
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

std::optional<malformed> check_ends(word_reader& reader, event_key key) {
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
  if (header.l1a() != (key.number & l2::payload_mask)) return malformed::wrong_l1a;
  if (header.spill() != key.spill) return malformed::wrong_spill;
  if (header.slot() <= slot_before || header.slot() < l2::first_slot ||
      header.slot() > l2::last_slot)
    return malformed::wrong_slot;
  return std::nullopt;
}

} // namespace

bool board_header::tagged() const {
  std::uint16_t common = l2::header_tag;
  for (const auto w : words) common &= w;
  return common == l2::header_tag;
}

std::uint32_t board_header::time() const {
  return static_cast<std::uint32_t>(words[2] & l2::payload_mask) << 14 |
         (words[3] & l2::payload_mask);
}

fragment_index index_fragment(const fragment_pieces& fragment, const crate_readout& crate,
                              event_key key, std::span<board_entry> out) {
  word_reader reader(fragment);
  fragment_index found;
  found.digest = mix_bits(fragment.bytes);
  const auto failed = [&found](malformed reason) {
    found.problem = reason;
    return found;
  };
  if (const auto problem = check_ends(reader, key)) return failed(*problem);

  const std::uint32_t end =
      fragment.bytes - l2::fragment_trailer_bytes; // where the crate trailer must be
  std::uint32_t at = l2::fragment_header_bytes;
  std::uint32_t slot_before = 0;
  while (at < end) {
    reader.prefetch(at + l2::board_bytes);
    if (reader.long_word(at) == l2::fragment_trailer || found.boards == crate.boards)
      return failed(malformed::trailing_bytes);
    if (end - at < header_bytes) return failed(malformed::truncated);
    const auto header = reader.header(at);
    if (const auto problem = check_header(header, key, slot_before)) return failed(*problem);

    std::uint32_t bytes = l2::board_bytes;
    if (header.compressed()) {
      bytes = opaque_bytes(reader, at, end);
      found.opaque = true;
    } else if (!found.time) {
      found.time = header.time();
    }
    if (bytes == 0 || end - at < bytes) return failed(malformed::truncated);

    // The end of the board before lies beside this header.
    if (at > l2::fragment_header_bytes) found.digest += reader.digest(at - digested_bytes);
    found.digest += reader.digest(at);
    board_entry& board = out[found.boards++];
    board.offset = at;
    board.bytes = static_cast<std::uint16_t>(bytes);
    board.slot = static_cast<std::uint8_t>(header.slot());
    board.kind = crate.kind;
    board.opaque = header.compressed() ? 1 : 0;
    slot_before = header.slot();
    at += bytes;
  }
  if (reader.long_word(end) != l2::fragment_trailer) return failed(malformed::crate_trailer);
  if (found.boards != 0) found.digest += reader.digest(end - digested_bytes);
  return found;
}

std::optional<std::uint32_t> spill_in_chunk(std::span<const std::byte> chunk,
                                            std::uint32_t offset_in_fragment,
                                            std::uint32_t event_number) {
  constexpr std::uint32_t first = l2::fragment_header_bytes;
  std::uint32_t at = first;
  if (offset_in_fragment > first)
    at = first + static_cast<std::uint32_t>(round_up(offset_in_fragment - first, l2::board_bytes));
  const std::size_t in_chunk = at - offset_in_fragment;
  if (in_chunk + header_bytes > chunk.size()) return std::nullopt;

  board_header header;
  for (std::size_t w = 0; w < l2::header_words; ++w)
    header.words[w] = load_big<std::uint16_t>(chunk.data() + in_chunk + w * word_bytes);
  const bool fits = header.tagged() && header.l1a() == (event_number & l2::payload_mask) &&
                    header.slot() >= l2::first_slot && header.slot() <= l2::last_slot;
  if (!fits) return std::nullopt;
  return header.spill();
}

} // namespace l3
