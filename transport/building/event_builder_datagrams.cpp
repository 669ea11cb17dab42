// SPDX-License-Identifier: Apache-2.0
// The event builder takes datagrams: each is added to its event or counted.
#include <algorithm>

#include "transport/building/event_builder.hpp"

namespace l3 {

/// Summarizes a landed chunk. Needs no lock.
void event_builder::look_at(landing_strip& strip, const datagram& d, input_counters& input) const {
  if (d.bytes == 0) return;
  const auto place = l2::place_of(d.header.fragment_id, crates_);
  arrived_chunk& c = strip.chunk(d.slot);
  if (const auto why = refusal_of(d.header, place.event_number, d.bytes)) {
    input.refused.add(*why);
    c.bytes = {};
    return;
  }
  c.header = d.header;
  c.place = place;
  c.bytes = {strip.slots()[d.slot].memory, d.bytes};
  c.strip = &strip;
  c.slot = d.slot;
  c.summarize(settings_.chunk_bytes);
}

std::optional<refused> event_builder::refusal_of(const l2::datagram_header& h,
                                                 std::uint32_t event_number,
                                                 std::uint32_t bytes) const {
  if (h.discriminator != 0) return refused::discriminator;
  if (h.fragment_id == 0 || event_number > settings_.max_events_per_spill)
    return refused::fragment_id;
  if (h.chunk >= max_chunks_) return refused::chunk_index;
  if (bytes > settings_.chunk_bytes) return refused::too_long;
  if (bytes % 2 != 0 || h.chunk * settings_.chunk_bytes + bytes > l2::max_fragment_bytes)
    return refused::chunk_length;
  return std::nullopt;
}

void event_builder::on_datagram(landing_strip& strip, const datagram& d, input_counters& input) {
  if (d.bytes != 0) return on_chunk(strip.chunk(d.slot), input);
  if (l2::trailer::unpack(d.header.discriminator).count != 0)
    return on_end_of_spill(d.header, input);
  on_trailer(d.header, input);
}

void event_builder::on_chunk(const arrived_chunk& c, input_counters& input) {
  if (c.bytes.empty()) return;
  const auto where = resolver_.resolve(c, now_);
  if (!where) return;
  if (*where != nullptr) {
    take_chunk(c, **where);
  } else {
    refuse_spill({*c.summary.spill, c.place.event_number}, c.place.crate, input);
  }
  if (c.summary.spill) take_waiting(c.header.fragment_id, *where, input);
}

/// Refuses a datagram whose spill is too far from the current one.
void event_builder::refuse_spill(event_key named, std::uint32_t crate, input_counters& input) {
  input.refused.add(refused::wrong_spill);
  counters_.astray.add(crate);
  counters_.latest.set(crate, named);
}

void event_builder::take_chunk(const arrived_chunk& c, spill_table& spill) {
  counters_.data_chunks.add();
  if (spill.has_ended(c.place.event_number)) {
    counters_.late_chunks.add();
    return count_late(spill, c.place);
  }
  const auto handle = event_of(spill, c.place.event_number);
  if (c.summary.spill) events_[handle].verified = true;
  events_.add_chunk(handle, c, now_);
}

/// Takes the waiting chunks of a fragment whose spill a datagram has named.
void event_builder::take_waiting(std::uint32_t fragment_id, spill_table* spill,
                                 input_counters& input) {
  while (const auto waiting = resolver_.take_waiting(fragment_id)) {
    if (spill != nullptr) {
      take_chunk(*waiting, *spill);
    } else {
      input.refused.add(refused::wrong_spill);
    }
  }
}

/// Takes a chunk without later siblings. It is late if there is no spill at all.
void event_builder::take_unnamed(const spill_resolver::unnamed_chunk& c) {
  if (c.spill != nullptr) return take_chunk(c.chunk, *c.spill);
  counters_.data_chunks.add();
  counters_.late_chunks.add();
}

std::uint32_t event_builder::event_of(spill_table& spill, std::uint32_t number) {
  if (spill.state(number) == spill_table::event_state::open) return spill.handle(number);
  return events_.open(spill, number, now_);
}

void event_builder::on_trailer(const l2::datagram_header& h, input_counters& input) {
  const auto t = l2::trailer::unpack(h.discriminator);
  const auto place = l2::place_of(h.fragment_id, crates_);
  if (h.fragment_id == 0 || place.event_number > settings_.max_events_per_spill)
    return input.refused.add(refused::fragment_id);
  if (h.chunk == 0 || h.chunk > max_chunks_) return input.refused.add(refused::chunk_index);
  if (t.crate != settings_.crates.crates[place.crate].number)
    return input.refused.add(refused::discriminator);
  spill_table* spill = resolver_.resolve_trailer(h, now_);
  if (spill != nullptr) {
    take_trailer(*spill, h);
  } else {
    refuse_spill({t.spill, place.event_number}, place.crate, input);
  }
  take_waiting(h.fragment_id, spill, input);
}

void event_builder::take_trailer(spill_table& spill, const l2::datagram_header& h) {
  counters_.trailers.add();
  const auto place = l2::place_of(h.fragment_id, crates_);
  const auto state = spill.state(place.event_number);
  if (state == spill_table::event_state::whole) return; // the event was completed by chunks alone
  if (state == spill_table::event_state::given_up) return count_late(spill, place);
  events_.add_trailer(event_of(spill, place.event_number), place.crate, h.chunk, now_);
}

void event_builder::on_end_of_spill(const l2::datagram_header& h, input_counters& input) {
  const auto t = l2::trailer::unpack(h.discriminator);
  const auto& crates = settings_.crates.crates;
  const auto crate = std::find_if(crates.begin(), crates.end(),
                                  [&](const auto& c) { return c.number == t.crate; });
  if (crate == crates.end()) return input.refused.add(refused::discriminator);
  if (spills_.is_past(t.spill)) return counters_.ends_of_spill.add(); // it began no new spill
  spill_table* spill = resolver_.resolve_end(h, now_);
  if (spill == nullptr) return input.refused.add(refused::wrong_spill);
  counters_.ends_of_spill.add();
  spill->end_of_spill(static_cast<std::uint32_t>(crate - crates.begin()), h.fragment_id, h.chunk,
                      t.count);
}

/// Counts a datagram of an ended event. Its fragment counts once: as a duplicate if the event was
/// whole, as late if the event was given up without it.
void event_builder::count_late(spill_table& spill, l2::fragment_place place) {
  const bool whole = spill.state(place.event_number) == spill_table::event_state::whole;
  if (!spill.first_late(place.event_number, place.crate)) return;
  (whole ? counters_.fragments_duplicate : counters_.fragments_late).add(place.crate);
  count_as_seen({*spill.number, place.event_number}, place.crate);
}

/// Counts a fragment whose event is not open.
void event_builder::count_as_seen(event_key key, std::uint32_t crate) {
  counters_.fragments_seen.add(crate);
  counters_.latest.set(crate, key);
}

} // namespace l3
