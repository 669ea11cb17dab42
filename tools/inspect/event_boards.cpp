// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_boards.hpp"

#include <algorithm>
#include <utility>

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

namespace {

/// Removes the samples of channels whose waveforms were not kept.
void take_out(board_samples& board, std::uint32_t kept) {
  const std::size_t records =
      l2::waveforms_per_board / std::max<std::size_t>(board.channels.size(), 1);
  for (std::size_t c = 0; c < board.channels.size(); ++c) {
    if ((kept >> c * records & 1) != 0) continue;
    board.wrong_words -= static_cast<std::uint32_t>(board.channels[c].size());
    board.channels[c].clear();
  }
}

} // namespace

std::vector<inspected_crate> crates_of(const found_event& event) {
  std::vector<inspected_crate> all;
  for (const found_fragment& f : event.fragments) {
    const crate_readout& crate = event.crates.crates[f.place];
    inspected_crate& to = all.emplace_back();
    to.number = crate.number;
    to.bytes = static_cast<std::uint32_t>(f.bytes.size());
    fragment_boards found = read_boards(f.bytes, crate, event.key);
    if (found.problem) to.problem = name_of(*found.problem);
    to.boards = std::move(found.boards);
    for (std::size_t b = 0; b < std::min(to.boards.size(), f.kept.size()); ++b)
      take_out(to.boards[b], f.kept[b]);
  }
  return all;
}

std::vector<std::uint8_t> missing_crates(const found_event& event) {
  std::vector<std::uint8_t> missing;
  for (std::size_t place = 0; place < event.crates.size(); ++place)
    if (std::ranges::find(event.fragments, place, &found_fragment::place) == event.fragments.end())
      missing.push_back(event.crates.crates[place].number);
  return missing;
}

} // namespace l3
