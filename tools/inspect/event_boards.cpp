// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_boards.hpp"

#include <algorithm>
#include <utility>

namespace l3 {
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
