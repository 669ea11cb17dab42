// SPDX-License-Identifier: Apache-2.0
// The event builder takes datagrams: it finds the spill and the event of each.
#include <algorithm>

#include "transport/building/event_builder.hpp"

namespace l3 {
namespace {

/// A number by which datagrams that name a spill differ.
std::uint64_t statement_of(const l2::datagram_header& h, bool is_trailer) {
  constexpr std::uint64_t trailer_bit = std::uint64_t{1} << 63;
  const std::uint64_t which = (std::uint64_t{h.fragment_id} << 16 | (h.chunk & 0xffffU)) + 1;
  return is_trailer ? which | trailer_bit : which;
}

} // namespace

/// Looks at the chunk where it has landed. Needs no lock.
void event_builder::look_at(landing_strip& strip, const datagram& d, input_counters& input) const {
  if (d.bytes == 0) return;
  const auto place = l2::place_of(d.header.fragment_id, crates_);
  arrived_chunk& c = strip.landed(d.slot);
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
  summarize(c);
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

void event_builder::summarize(arrived_chunk& c) const {
  const bool is_last = c.bytes.size() < settings_.chunk_bytes;
  l3::summarize(c.bytes, c.header.chunk * settings_.chunk_bytes, c.place.event_number, is_last,
                c.summary);
}

void event_builder::on_datagram(landing_strip& strip, const datagram& d, input_counters& input) {
  if (d.bytes != 0) return on_chunk(strip.landed(d.slot), input);
  if (l2::trailer::unpack(d.header.discriminator).count != 0)
    return on_end_of_spill(d.header, input);
  on_trailer(d.header, input);
}

void event_builder::on_chunk(const arrived_chunk& c, input_counters& input) {
  if (c.bytes.empty()) return;
  const auto named = c.summary.spill;
  if (!named) return take_unstated(c);
  auto kind = sibling_kind::chunk;
  if (auto* spill = spills_.stated(*named, statement_of(c.header, false), now_); spill != nullptr) {
    if (spill->state(c.place.event_number) == spill_table::event_state::whole)
      kind = sibling_kind::repeated_chunk;
    take_chunk(*spill, c, named_by::itself);
  } else {
    refuse_spill({*named, c.place.event_number}, c.place.crate, input);
  }
  on_sibling(c.header.fragment_id, *named, kind, input);
}

/// The spill is too far from the one being taken.
void event_builder::refuse_spill(event_key named, std::uint32_t crate, input_counters& input) {
  input.refused.add(refused::wrong_spill);
  counters_.astray.add(crate);
  counters_.latest.set(crate, named);
}

void event_builder::take_chunk(spill_table& spill, const arrived_chunk& c, named_by by) {
  counters_.data_chunks.add();
  const auto state = spill.state(c.place.event_number);
  if (state == spill_table::event_state::whole) return count_repeat(spill, c, by);
  if (state == spill_table::event_state::given_up) {
    counters_.late_chunks.add();
    return count_late(spill, c.place);
  }
  const auto handle = event_of(spill, c.place.event_number);
  if (by == named_by::itself) events_[handle].verified = true;
  events_.add_chunk(handle, c, now_);
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
  if (auto* spill = spills_.stated(t.spill, statement_of(h, true), now_); spill != nullptr) {
    take_trailer(*spill, h);
  } else {
    refuse_spill({t.spill, place.event_number}, place.crate, input);
  }
  on_sibling(h.fragment_id, t.spill, sibling_kind::trailer, input);
}

void event_builder::take_trailer(spill_table& spill, const l2::datagram_header& h) {
  counters_.trailers.add();
  const auto place = l2::place_of(h.fragment_id, crates_);
  const auto state = spill.state(place.event_number);
  if (state == spill_table::event_state::whole) return; // chunks alone make an event complete
  if (state == spill_table::event_state::given_up) return count_late(spill, place);
  events_.add_trailer(event_of(spill, place.event_number), place.crate, h.chunk, now_);
}

void event_builder::on_end_of_spill(const l2::datagram_header& h, input_counters& input) {
  const auto t = l2::trailer::unpack(h.discriminator);
  const auto& crates = settings_.crates.crates;
  const auto crate = std::find_if(crates.begin(), crates.end(),
                                  [&](const auto& c) { return c.number == t.crate; });
  if (crate == crates.end()) return input.refused.add(refused::discriminator);
  spill_table* spill = spills_.stated(t.spill, statement_of(h, true) ^ h.discriminator, now_);
  if (spill == nullptr) return input.refused.add(refused::wrong_spill);
  counters_.ends_of_spill.add();
  spill->end_of_spill(static_cast<std::uint32_t>(crate - crates.begin()), h.fragment_id, h.chunk,
                      t.count);
}

/// A datagram of an event that was given up.
void event_builder::count_late(spill_table& spill, l2::fragment_place place) {
  if (!spill.first_touch(place.event_number, place.crate)) return;
  counters_.fragments_late.add(place.crate);
  count_as_seen({*spill.number, place.event_number}, place.crate);
}

/// A chunk of an event that was whole. Its fragment counts at most once as a duplicate, and at most
/// once as conflicting: a chunk with other bytes counts also if it is not the first that comes
/// again. The bytes of a chunk that may be of another spill are not compared.
void event_builder::count_repeat(spill_table& spill, const arrived_chunk& c, named_by by) {
  const event_key key{*spill.number, c.place.event_number};
  const std::uint32_t crate = c.place.crate;
  const bool is_certain =
      by == named_by::itself || (by == named_by::sibling && !may_be_of_another(spill, c));
  if (is_certain && known_chunks_.has_another(key, crate, c.header.chunk, c.summary.mark)) {
    if (!known_chunks_.set_conflicting(key, crate)) return;
    counters_.fragments_conflicting.add(crate);
    count_as_seen(key, crate);
    return name_conflict(key);
  }
  counters_.duplicate_chunks.add();
  if (!spill.first_repeat(key.number, crate)) return;
  counters_.fragments_duplicate.add(crate);
  count_as_seen(key, crate);
}

/// A fragment that is of no event under way.
void event_builder::count_as_seen(event_key key, std::uint32_t crate) {
  counters_.fragments_seen.add(crate);
  counters_.latest.set(crate, key);
}

/// Whether the chunk, which does not name its spill, may be a late one of another spill than its
/// sibling's: that lacks it, or had the same one.
bool event_builder::may_be_of_another(const spill_table& spill, const arrived_chunk& c) const {
  return std::ranges::any_of(spills_.in_use(), [&](const spill_table* other) {
    if (other == nullptr || other == &spill) return false;
    const event_key key{*other->number, c.place.event_number};
    const auto state = other->state(key.number);
    if (state == spill_table::event_state::untouched && other->all_arrived()) return false;
    return state != spill_table::event_state::whole ||
           !known_chunks_.has_another(key, c.place.crate, c.header.chunk, c.summary.mark);
  });
}

// Chunks that do not name their spill: siblings before or after them do.

/// The chunk goes at once where a sibling went, if that fragment lacks it, or has an early chunk
/// that it can confirm. Otherwise it may be a duplicate, or belong to the next spill's fragment
/// with this id: the next sibling tells.
void event_builder::take_unstated(const arrived_chunk& c) {
  const auto spill = unstated_.spill_of(c.header.fragment_id, now_);
  if (spill && is_wanted(c, *spill)) return take_chunk(*spills_.find(*spill), c, named_by::sibling);
  unstated_.hold(c.header, c.bytes, now_);
}

/// Whether its event is being assembled and lacks the chunk, or is in doubt about it. As long as a
/// spill is not proven, its trailers may be strays: they draw no chunk that may be another spill's.
bool event_builder::is_wanted(const arrived_chunk& c, std::uint32_t spill) {
  const auto* table = spills_.find(spill);
  const std::uint32_t number = c.place.event_number;
  if (table == nullptr || table->state(number) != spill_table::event_state::open) return false;
  const std::uint32_t handle = table->handle(number);
  return events_.wants(handle, c) && (table->proven || events_.has_chunks(handle, c.place.crate));
}

/// A datagram has named the spill of its fragment: takes the chunks that waited for that.
void event_builder::on_sibling(std::uint32_t fragment_id, std::uint32_t spill, sibling_kind kind,
                               input_counters& input) {
  unstated_.note(fragment_id, spill, kind, now_);
  if (unstated_.may_have(fragment_id)) take_waiting(fragment_id, spill, input);
}

void event_builder::take_waiting(std::uint32_t fragment_id, std::uint32_t spill,
                                 input_counters& input) {
  while (const auto waiting = unstated_.take(fragment_id)) {
    if (auto* table = spills_.find(spill); table != nullptr) {
      take_chunk(*table, arrived(*waiting), named_by::sibling);
    } else {
      input.refused.add(refused::wrong_spill);
    }
  }
}

arrived_chunk event_builder::arrived(const unstated_chunks::waiting_chunk& w) const {
  arrived_chunk c{.header = w.header,
                  .place = l2::place_of(w.header.fragment_id, crates_),
                  .bytes = {unstated_.memory_of(w), w.bytes},
                  .summary = {}};
  summarize(c);
  return c;
}

/// No sibling came after the chunk. If one came shortly before, the chunk is a duplicate, and of
/// that spill for certain if others of the fragment came again, too; otherwise its siblings were
/// lost. A chunk is late if there is no spill at all.
void event_builder::wait_no_more(const unstated_chunks::waiting_chunk& w) {
  const auto c = arrived(w);
  const auto named = unstated_.spill_of(w.header.fragment_id, w.since);
  auto* spill = named ? spills_.find(*named) : spills_.unstated(c.place.event_number);
  const bool certain = named && unstated_.is_repeated(w.header.fragment_id);
  if (spill != nullptr) return take_chunk(*spill, c, certain ? named_by::sibling : named_by::guess);
  counters_.data_chunks.add();
  counters_.late_chunks.add();
}

} // namespace l3
