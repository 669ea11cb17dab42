// SPDX-License-Identifier: Apache-2.0
#include "transport/building/arrived_chunk.hpp"

#include <bit>

#include "transport/building/fragment_index.hpp"

namespace l3 {
namespace {

/// Distance from `offset` to the next board header at or after it, in a fragment of full boards.
std::size_t header_in_chunk(std::uint32_t offset) {
  constexpr std::uint32_t first = l2::fragment_header_bytes;
  if (offset <= first) return first - offset;
  return round_up(offset - first, l2::board_bytes) - (offset - first);
}

/// The digest's summand for the bytes before a border.
std::uint64_t digest_before(const std::byte* border, std::uint64_t offset) {
  return mixed_bytes(border - digested_bytes, offset - digested_bytes);
}

bool is_word(std::span<const std::byte> chunk, std::size_t at, std::uint32_t word) {
  return chunk.size() >= at + sizeof word && load_big<std::uint32_t>(chunk.data() + at) == word;
}

/// One bit for each existing slot, starting at slot 0.
constexpr std::uint32_t slots_of_crate = ((1U << l2::max_boards) - 1) << l2::first_slot;

/// Adds the boards of a chunk until one is not plain. Returns where the next one would begin.
std::size_t add_boards(chunk_summary& s, std::span<const std::byte> chunk, std::size_t at,
                       std::uint32_t offset) {
  if (at + digested_bytes > chunk.size()) return at;
  const std::byte* from = chunk.data() + at;
  const std::uint32_t place = board_header(from).place();
  std::uint64_t digest = offset == 0 ? 0 : digest_before(from, offset + at);
  std::uint32_t slots = 0;
  for (;; from += l2::board_bytes) {
    const board_header header(from);
    const std::uint32_t slot = 1U << header.slot() & slots_of_crate;
    if (!header.begins_plain() || header.place() != place || slot <= slots) break;
    slots |= slot;
    digest += mixed_bytes(from, offset + at);
    at += l2::board_bytes;
    if (at + digested_bytes > chunk.size()) break;
    digest += digest_before(from + l2::board_bytes, offset + at);
  }
  s.digest = digest;
  s.slots = static_cast<std::uint16_t>(slots >> l2::first_slot);
  return at;
}

} // namespace

void summarize(std::span<const std::byte> chunk, std::uint32_t offset, std::uint32_t event_number,
               bool is_last, chunk_summary& s) {
  s = {};
  std::size_t at = header_in_chunk(offset);
  const bool has_header = at + board_header::bytes <= chunk.size();
  if (has_header) {
    const board_header header(chunk.data() + at);
    if (header.tagged() && header.is_of_event(event_number) && header.slot_exists())
      s.spill = static_cast<std::uint16_t>(header.spill());
  }
  constexpr std::size_t trailer = l2::fragment_trailer_bytes;
  if (has_header && !s.spill) return;
  if (offset == 0 && !is_word(chunk, 0, l2::fragment_header(event_number))) return;
  if (is_last && chunk.size() < trailer + digested_bytes) return;
  const auto boards = chunk.first(chunk.size() - (is_last ? trailer : 0));
  const bool begins_before = offset != 0 && at < digested_bytes && at < boards.size();
  if (begins_before) return;
  if (has_header) {
    if (offset == 0) s.time = board_header(boards.data() + at).time();
    at = add_boards(s, boards, at, offset);
  }
  if (at < boards.size()) return;
  if (is_last) {
    const std::size_t end = boards.size();
    if (at != end || !is_word(chunk, end, l2::fragment_trailer)) return;
    s.digest += digest_before(chunk.data() + end, offset + end);
  }
  s.plain = true;
}

std::optional<fragment_index> join(std::span<const std::uint16_t> slots_of_chunks,
                                   const fragment_sums& sums, std::uint32_t bytes,
                                   const crate_readout& crate) {
  if (!sums.plain) return std::nullopt;
  fragment_index found;
  found.time = sums.time;
  found.digest = bytes + sums.digest;
  std::uint32_t slots = 0;
  for (const std::uint16_t s : slots_of_chunks) {
    if (s != 0 && std::uint32_t{1} << std::countr_zero(s) <= slots) return std::nullopt;
    slots |= s;
  }
  found.slots = static_cast<std::uint16_t>(slots);
  found.boards = static_cast<std::uint16_t>(std::popcount(slots));
  constexpr std::uint32_t around = l2::fragment_header_bytes + l2::fragment_trailer_bytes;
  if (found.boards == 0 || found.boards > crate.boards ||
      bytes != around + found.boards * l2::board_bytes)
    return std::nullopt;
  return found;
}

void write_boards(std::uint16_t slots, board_kind kind, std::span<board_entry> out) {
  std::uint32_t offset = l2::fragment_header_bytes;
  std::uint32_t left = slots;
  for (board_entry& to : out) {
    to = {.offset = static_cast<std::uint16_t>(offset),
          .bytes = l2::board_bytes,
          .slot = static_cast<std::uint8_t>(l2::first_slot + std::countr_zero(left)),
          .kind = kind};
    offset += l2::board_bytes;
    left &= left - 1;
  }
}

} // namespace l3
