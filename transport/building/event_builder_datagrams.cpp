// SPDX-License-Identifier: Apache-2.0
// The event builder takes datagrams: each is added to its event or counted.
#include <algorithm>

#include "transport/building/event_builder.hpp"

namespace l3 {

std::optional<refused> refusal_of(const l2::datagram_header& h, std::size_t bytes,
                                  const building_settings& s, l2::fragment_place& place) {
  const auto& crates = s.crates.crates;
  const auto t = l2::trailer::unpack(h.discriminator);
  if (bytes == 0 && t.count != 0) { // an end of spill
    const auto crate = std::ranges::find(crates, t.crate, &crate_readout::number);
    if (crate == crates.end()) return refused::discriminator;
    place.crate = static_cast<std::uint32_t>(crate - crates.begin());
    return std::nullopt;
  }
  if (bytes != 0 && h.discriminator != 0) return refused::discriminator;
  place = l2::place_of(h.fragment_id, static_cast<std::uint32_t>(crates.size()));
  if (h.fragment_id == 0 || place.event_number > s.max_events_per_spill)
    return refused::fragment_id;
  // Where the chunk begins; for a trailer, where all chunks end.
  const std::uint64_t begin = std::uint64_t{h.chunk} * s.chunk_bytes;
  if (bytes == 0) {
    const bool fits = begin != 0 && begin - s.chunk_bytes < l2::max_fragment_bytes;
    if (!fits) return refused::chunk_index;
    if (t.crate != crates[place.crate].number) return refused::discriminator;
    return std::nullopt;
  }
  if (begin >= l2::max_fragment_bytes) return refused::chunk_index;
  if (bytes > s.chunk_bytes) return refused::too_long;
  if (bytes % 2 != 0 || begin + bytes > l2::max_fragment_bytes) return refused::chunk_length;
  return std::nullopt;
}

/// Finds what has landed in the entry, and summarizes a chunk. Any thread. Returns why it refuses
/// the datagram, if it does.
std::optional<refused> event_builder::look_at(landing_ring::entry& e, std::uint32_t bytes) const {
  using content = landing_ring::content;
  arrived_chunk& c = e.chunk;
  if (const auto why = refusal_of(c.header, bytes, settings_, c.place)) return why;
  if (bytes == 0) {
    const bool ends_spill = l2::trailer::unpack(c.header.discriminator).count != 0;
    e.what = ends_spill ? content::end_of_spill : content::trailer;
    return std::nullopt;
  }
  e.what = content::chunk;
  c.bytes = {e.slot.memory, bytes};
  c.slot = &e.slot;
  // The last chunk of a fragment is shorter than the others.
  const std::uint32_t chunk_bytes = settings_.chunk_bytes;
  summarize(c.bytes, c.header.chunk * chunk_bytes, c.place.event_number, bytes < chunk_bytes,
            c.summary);
  return std::nullopt;
}

void event_builder::on_datagram(landing_ring::entry& e, input_counters& input) {
  switch (e.what) {
  case landing_ring::content::nothing: return;
  case landing_ring::content::chunk: return on_chunk(e.chunk, input);
  case landing_ring::content::trailer: return on_trailer(e.chunk, input);
  case landing_ring::content::end_of_spill: return on_end_of_spill(e.chunk, input);
  }
}

void event_builder::on_chunk(const arrived_chunk& c, input_counters& input) {
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
  event_assembly& e = event_of(spill, c.place.event_number);
  if (c.summary.spill) e.verified = true;
  events_.add_chunk(e, c, now_);
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

event_assembly& event_builder::event_of(spill_table& spill, std::uint32_t number) {
  if (spill.is_open(number)) return events_[spill.handle(number)];
  return events_.open(spill, number, now_);
}

void event_builder::on_trailer(const arrived_chunk& c, input_counters& input) {
  spill_table* spill = resolver_.resolve_trailer(c, now_);
  if (spill != nullptr) {
    take_trailer(*spill, c);
  } else {
    const auto t = l2::trailer::unpack(c.header.discriminator);
    refuse_spill({t.spill, c.place.event_number}, c.place.crate, input);
  }
  take_waiting(c.header.fragment_id, spill, input);
}

void event_builder::take_trailer(spill_table& spill, const arrived_chunk& c) {
  counters_.trailers.add();
  if (spill.is_whole(c.place.event_number)) return; // completed by chunks alone
  if (spill.has_ended(c.place.event_number)) return count_late(spill, c.place);
  events_.add_trailer(event_of(spill, c.place.event_number), c.place.crate, c.header.chunk, now_);
}

void event_builder::on_end_of_spill(const arrived_chunk& c, input_counters& input) {
  const l2::datagram_header& h = c.header;
  const auto t = l2::trailer::unpack(h.discriminator);
  if (spills_.is_past(t.spill)) return counters_.ends_of_spill.add(); // it began no new spill
  spill_table* spill = resolver_.resolve_end(h, now_);
  if (spill == nullptr) return input.refused.add(refused::wrong_spill);
  counters_.ends_of_spill.add();
  spill->end_of_spill(c.place.crate, h.fragment_id, h.chunk, t.count);
}

/// Counts a datagram of an ended event. Its fragment counts once: as a duplicate if the event was
/// whole, as late if the event was given up without it.
void event_builder::count_late(spill_table& spill, l2::fragment_place place) {
  const bool whole = spill.is_whole(place.event_number);
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
