// SPDX-License-Identifier: Apache-2.0
#include "transport/building/assembly.hpp"

#include <algorithm>
#include <cassert>

namespace l3 {

assembly_pool::assembly_pool(std::uint32_t events, std::uint32_t crates, std::uint32_t max_chunks)
    : fragments_(std::size_t{events} * crates), pieces_(fragments_.size() * max_chunks),
      board_slots_(pieces_.size()), events_(events) {
  const std::size_t event_pieces = std::size_t{crates} * max_chunks;
  for (std::uint32_t e = 0; e < events; ++e) {
    events_[e].fragments = std::span(fragments_).subspan(std::size_t{e} * crates, crates);
    events_[e].pieces = std::span(pieces_).subspan(e * event_pieces, event_pieces);
    events_[e].board_slots = std::span(board_slots_).subspan(e * event_pieces, event_pieces);
  }
  free_.reserve(events);
  for (std::uint32_t e = events; e > 0; --e) free_.push_back(e - 1);
}

std::uint32_t assembly_pool::take() {
  assert(!full());
  const std::uint32_t handle = free_.back();
  free_.pop_back();
  event_assembly& e = events_[handle];
  e = {.fragments = e.fragments,
       .pieces = e.pieces,
       .board_slots = e.board_slots,
       .older = youngest_};
  std::fill(e.fragments.begin(), e.fragments.end(), fragment_assembly{});
  (youngest_ == event_assembly::none ? oldest_ : events_[youngest_].younger) = handle;
  youngest_ = handle;
  return handle;
}

void assembly_pool::give_back(std::uint32_t handle) {
  const event_assembly& e = events_[handle];
  (e.older == event_assembly::none ? oldest_ : events_[e.older].younger) = e.younger;
  (e.younger == event_assembly::none ? youngest_ : events_[e.younger].older) = e.older;
  free_.push_back(handle);
}

} // namespace l3
