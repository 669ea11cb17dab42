// SPDX-License-Identifier: Apache-2.0
// The event builder takes chunks that do not name their spill: siblings before or after them do.
#include "transport/building/event_builder.hpp"

namespace l3 {

/// The chunk goes at once where a sibling went, if that fragment lacks it, or has an early chunk
/// that it can confirm. Otherwise it may be a duplicate, or belong to the next spill's fragment
/// with this id: the next sibling tells.
void event_builder::take_unstated(const arrived_chunk& c) {
  const auto spill = unstated_.spill_of(c.header.fragment_id, now_);
  if (spill && is_wanted(c, *spill)) return take_chunk(*spills_.find(*spill), c, false);
  if (unstated_.full()) wait_no_more(*unstated_.take_oldest());
  unstated_.hold(c.header, c.bytes, now_);
}

/// Whether its event is being assembled and lacks the chunk, or is in doubt about it.
bool event_builder::is_wanted(const arrived_chunk& c, std::uint32_t spill) {
  const auto* table = spills_.find(spill);
  const std::uint32_t number = c.place.event_number;
  if (table == nullptr || table->state(number) != spill_table::event_state::open) return false;
  const auto& f = events_[table->handle(number)].fragments[c.place.crate];
  return (f.have >> c.header.chunk & 1) == 0 || f.early;
}

/// A datagram has named the spill of its fragment: takes the chunks that waited for that.
void event_builder::on_sibling(std::uint32_t fragment_id, std::uint32_t spill,
                               input_counters& input) {
  unstated_.note(fragment_id, spill, now_);
  while (const auto waiting = unstated_.take(fragment_id)) {
    if (auto* table = spills_.find(spill); table != nullptr) {
      take_chunk(*table, arrived(*waiting), false);
    } else {
      input.refused.add(refused::wrong_spill);
    }
  }
}

event_builder::arrived_chunk event_builder::arrived(const unstated_chunks::waiting_chunk& w) const {
  return {w.header,
          l2::place_of(w.header.fragment_id, settings_.crates.size()),
          {unstated_.memory_of(w), w.bytes}};
}

/// No sibling came after the chunk. If one came shortly before, the chunk is a duplicate; otherwise
/// its siblings were lost. A chunk is late if there is no spill at all.
void event_builder::wait_no_more(const unstated_chunks::waiting_chunk& w) {
  const auto c = arrived(w);
  const auto named = unstated_.spill_of(w.header.fragment_id, w.since);
  auto* spill = named ? spills_.find(*named) : spills_.unstated(c.place.event_number);
  if (spill != nullptr) return take_chunk(*spill, c, false);
  counters_.data_chunks.add();
  counters_.late_chunks.add();
}

} // namespace l3
