// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/fragment_boards.hpp"

#include <algorithm>

#include "transport/building/fragment_index.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

std::uint16_t word(const std::byte* packet, std::size_t index) {
  return load_big<std::uint16_t>(packet + 2 * index);
}

board_samples board_of(const std::byte* packet, const board_entry& entry) {
  board_samples board;
  board.slot = entry.slot;
  board.kind = entry.kind;
  board.opaque = entry.opaque != 0;
  board.trigger = word(packet, 0) & l2::payload_mask;
  board.time = (std::uint32_t{word(packet, 2)} & l2::payload_mask) << 14 |
               (word(packet, 3) & l2::payload_mask);
  if (board.opaque) return board;
  const std::size_t channels = board.kind == board_kind::sampling_125_mhz ? 16 : 4;
  board.channels.resize(channels);
  for (auto& samples : board.channels) samples.reserve(l2::sample_words / channels);
  for (std::size_t i = 0; i < l2::sample_words; ++i) {
    const std::uint16_t sample = word(packet, l2::header_words + i);
    if ((sample & l2::wide_tag_mask) != l2::sample_tag) ++board.wrong_words;
    board.channels[i % channels].push_back(sample & l2::payload_mask);
  }
  return board;
}

} // namespace

fragment_boards read_boards(std::span<const std::byte> fragment, const crate_readout& crate,
                            event_key key) {
  const auto bytes = static_cast<std::uint32_t>(fragment.size());
  const piece_offset whole = 0;
  const auto piece_bytes = (std::max(bytes, 1U) + 3) / 4 * 4;
  std::vector<board_entry> entries(crate.boards);
  const fragment_index found =
      index_fragment({fragment.data(), &whole, piece_bytes, bytes}, crate, key, entries);
  fragment_boards all;
  all.problem = found.problem;
  for (std::size_t b = 0; !found.problem && b < found.boards; ++b)
    all.boards.push_back(board_of(fragment.data() + entries[b].offset, entries[b]));
  return all;
}

} // namespace l3
