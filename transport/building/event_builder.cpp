// SPDX-License-Identifier: Apache-2.0
// The event builder takes datagrams: it finds the spill, the event and the chunk of each.
#include "transport/building/event_builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace l3 {
namespace {

constexpr std::uint32_t max_crates = 64;      // a bit each in a word
constexpr std::uint32_t max_chunk_count = 64; // the same
constexpr std::uint32_t min_open_events = 64;

constexpr std::uint32_t chunks_of(std::size_t bytes, std::uint32_t chunk_bytes) {
  return static_cast<std::uint32_t>((bytes + chunk_bytes - 1) / chunk_bytes);
}

const building_settings& checked(const building_settings& s, const batch_capacity& c) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("event building: " + why);
  };
  if (s.crates.size() == 0 || s.crates.size() > max_crates)
    refuse("a readout has 1 to " + std::to_string(max_crates) + " crates");
  constexpr auto min_chunk = round_up(chunks_of(l2::max_fragment_bytes, max_chunk_count), 4);
  if (s.chunk_bytes % 4 != 0 || s.chunk_bytes < min_chunk)
    refuse("chunk_bytes must be a multiple of 4, at least " + std::to_string(min_chunk));
  if (s.max_events_per_spill == 0) refuse("max_events_per_spill must not be 0");
  if (c.events == 0) refuse("a batch must hold at least one event");
  if (c.bytes > std::numeric_limits<piece_offset>::max())
    refuse("a batch may have at most 4 GiB; take fewer events a batch");
  return s;
}

/// A number by which datagrams that name a spill differ.
std::uint64_t statement_of(const l2::datagram_header& h, bool is_trailer) {
  constexpr std::uint64_t trailer_bit = std::uint64_t{1} << 63;
  const std::uint64_t which = (std::uint64_t{h.fragment_id} << 16 | (h.chunk & 0xffffU)) + 1;
  return is_trailer ? which | trailer_bit : which;
}

std::uint64_t below(std::uint32_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

} // namespace

event_builder::event_builder(const building_settings& settings, const batch_capacity& capacity,
                             std::chrono::nanoseconds batch_age, batch_pool& pool,
                             building_counters& counters, outcome_counters& outcomes,
                             std::function<void(const spill_summary&)> on_end_of_spill)
    : settings_(checked(settings, capacity)), batch_age_(batch_age),
      max_chunks_(chunks_of(l2::max_fragment_bytes, settings.chunk_bytes)), counters_(counters),
      outcomes_(outcomes), on_end_of_spill_(std::move(on_end_of_spill)),
      spills_(settings_, [this](spill_table& t) { retire(t); }), unstated_(settings.chunk_bytes),
      events_(capacity.events + settings.parked_events + std::max(min_open_events, capacity.events),
              settings.crates.size(), max_chunks_),
      batches_(pool, settings.chunk_bytes),
      parking_(settings.parked_events, settings.crates.size(), settings.chunk_bytes, max_chunks_),
      table_bytes_(spills_.bytes() + unstated_.bytes() + events_.bytes()),
      admission_(settings_, counters) {
  arrived_.reserve(settings.crates.size());
  arrived_pieces_.resize(settings.crates.size());
}

void event_builder::take(landing_strip& strip, std::span<const datagram> datagrams,
                         input_counters& input, time_point now) {
  std::unique_lock lock(mutex_);
  advance(now);
  for (const auto& d : datagrams) on_datagram(strip, d, input);
  close_if_full();
  refill(strip);
  call_hook(lock);
}

void event_builder::on_datagram(landing_strip& strip, const datagram& d, input_counters& input) {
  if (d.bytes != 0) return on_chunk(strip, d, input);
  if (l2::trailer::unpack(d.header.discriminator).count != 0)
    return on_end_of_spill(d.header, input);
  on_trailer(d.header, input);
}

void event_builder::on_chunk(landing_strip& strip, const datagram& d, input_counters& input) {
  const auto& h = d.header;
  const auto place = l2::place_of(h.fragment_id, settings_.crates.size());
  if (h.discriminator != 0) return input.refused.add(refused::discriminator);
  if (h.fragment_id == 0 || place.event_number > settings_.max_events_per_spill)
    return input.refused.add(refused::fragment_id);
  if (h.chunk >= max_chunks_) return input.refused.add(refused::chunk_index);
  const std::uint32_t offset = h.chunk * settings_.chunk_bytes;
  if (d.bytes > settings_.chunk_bytes) return input.refused.add(refused::too_long);
  if (d.bytes % 2 != 0 || offset + d.bytes > l2::max_fragment_bytes)
    return input.refused.add(refused::chunk_length);

  const arrived_chunk c{h, place, {strip.slots()[d.slot].memory, d.bytes}, &strip, d.slot};
  const auto named = spill_in_chunk(c.bytes, offset, place.event_number);
  if (!named) return take_unstated(c);
  if (auto* spill = spills_.stated(*named, statement_of(h, false), now_); spill != nullptr) {
    take_chunk(*spill, c, true);
  } else {
    input.refused.add(refused::wrong_spill);
  }
  on_sibling(h.fragment_id, *named, input);
}

void event_builder::take_chunk(spill_table& spill, const arrived_chunk& c, bool stated) {
  counters_.data_chunks.add();
  using state = spill_table::event_state;
  const std::uint32_t number = c.place.event_number;
  const auto event = spill.state(number);
  if (event == state::whole || event == state::given_up)
    return count_after_end(spill, c.place, true);
  // Making room may move or end open events, even this one, and with them its spill: so look it up
  // again.
  make_room_to_take(c, event == state::untouched);
  if (!spill.in_use) return counters_.late_chunks.add();
  if (const auto now = spill.state(number); now == state::whole || now == state::given_up)
    return count_after_end(spill, c.place, true);
  const bool known = spill.state(number) == state::open;
  const auto handle = known ? spill.handle(number) : open_event(spill, number);
  if (stated) events_[handle].verified = true;
  add_chunk(handle, c);
}

/// Makes a place for the chunk's event if that begins, and a slot if the chunk must be copied.
void event_builder::make_room_to_take(const arrived_chunk& c, bool begins) {
  const auto lacks_slot = [&] {
    const bool stays = c.strip != nullptr && c.strip->lies_in(batches_.current());
    return batches_.current() != nullptr && !stays && !batches_.current()->landing.has_slot();
  };
  do {
    if (begins) make_room_to_open();
  } while (lacks_slot() && close_batch(true));
}

void event_builder::add_chunk(std::uint32_t handle, const arrived_chunk& c) {
  event_assembly& e = events_[handle];
  fragment_assembly& f = e.fragments[c.place.crate];
  const bool ended_before = f.ended();
  const std::uint32_t chunk = c.header.chunk;
  const std::uint64_t bit = std::uint64_t{1} << chunk;
  see(f);
  if (f.problem == malformed::chunk_count) return;
  if ((f.have & bit) != 0) {
    compare_chunk(e, c);
    return end_if_ended(handle, ended_before, f);
  }

  const bool last = c.bytes.size() < settings_.chunk_bytes;
  const bool beyond = f.chunks != 0 && chunk >= f.chunks;
  const bool too_early =
      last && ((f.chunks != 0 && f.chunks != chunk + 1) || (f.have & ~below(chunk + 1)) != 0);
  if (beyond || too_early) {
    f.problem = malformed::chunk_count;
  } else {
    if (last) {
      f.chunks = static_cast<std::uint8_t>(chunk + 1);
      f.last_bytes = static_cast<std::uint32_t>(c.bytes.size());
    }
    place_chunk(e, c);
    f.have |= bit;
    if (c.strip == nullptr) f.early = true;
  }
  end_if_ended(handle, ended_before, f);
}

void event_builder::compare_chunk(event_assembly& e, const arrived_chunk& c) {
  fragment_assembly& f = e.fragments[c.place.crate];
  const std::uint32_t chunk = c.header.chunk;
  const bool kept = e.place != event_place::nowhere;
  const bool same = c.bytes.size() == length_of(f, chunk) &&
                    (!kept || std::memcmp(memory_of(e, c.place.crate, chunk), c.bytes.data(),
                                          c.bytes.size()) == 0);
  if (!same) {
    f.problem = malformed::conflicting_chunks;
    return;
  }
  counters_.duplicate_chunks.add();
  if (f.repeated) return;
  f.repeated = true;
  counters_.fragments_seen.add();
  counters_.fragments_duplicate.add();
}

void event_builder::place_chunk(event_assembly& e, const arrived_chunk& c) {
  if (e.place == event_place::nowhere) return;
  if (e.place == event_place::parking)
    return parking_.put(e.parking_slot, c.place.crate, c.header.chunk, c.bytes);

  batch_in_use& batch = *batches_.current();
  const auto bytes = static_cast<std::uint32_t>(c.bytes.size());
  piece_offset& piece = e.pieces[c.place.crate * max_chunks_ + c.header.chunk];
  std::optional<piece_offset> copy;
  if (batch.landing.is_short(bytes)) {
    copy = batch.landing.gather(bytes);
    e.fragments[c.place.crate].gathered = copy.has_value();
  }
  if (!copy && c.strip != nullptr && c.strip->lies_in(&batch)) { // the usual case: it stays
    piece = c.strip->keep(c.slot);
    return;
  }
  if (!copy) copy = batch.landing.slot();
  piece = copy.value(); // make_room_to_take() has made the slot
  std::memcpy(batch.batch->bytes.data() + piece, c.bytes.data(), bytes);
}

void event_builder::on_trailer(const l2::datagram_header& h, input_counters& input) {
  const auto t = l2::trailer::unpack(h.discriminator);
  const auto place = l2::place_of(h.fragment_id, settings_.crates.size());
  if (h.fragment_id == 0 || place.event_number > settings_.max_events_per_spill)
    return input.refused.add(refused::fragment_id);
  if (h.chunk == 0 || h.chunk > max_chunks_) return input.refused.add(refused::chunk_index);
  if (t.crate != settings_.crates.crates[place.crate].number)
    return input.refused.add(refused::discriminator);
  if (auto* spill = spills_.stated(t.spill, statement_of(h, true), now_); spill != nullptr) {
    take_trailer(*spill, h);
  } else {
    input.refused.add(refused::wrong_spill);
  }
  on_sibling(h.fragment_id, t.spill, input);
}

void event_builder::take_trailer(spill_table& spill, const l2::datagram_header& h) {
  counters_.trailers.add();
  const auto place = l2::place_of(h.fragment_id, settings_.crates.size());
  using state = spill_table::event_state;
  const auto event = spill.state(place.event_number);
  if (event == state::whole || event == state::given_up)
    return count_after_end(spill, place, false);
  if (event == state::untouched) make_room_to_open();
  if (!spill.in_use) return; // the spill has ended meanwhile
  const auto handle = event == state::open ? spill.handle(place.event_number)
                                           : open_event(spill, place.event_number);
  event_assembly& e = events_[handle];
  e.verified = true;
  fragment_assembly& f = e.fragments[place.crate];
  const bool ended_before = f.ended();
  see(f);
  f.trailer = true;
  const bool disagrees = (f.chunks != 0 && f.chunks != h.chunk) || (f.have & ~below(h.chunk)) != 0;
  if (disagrees) {
    f.problem = malformed::chunk_count;
  } else {
    f.chunks = static_cast<std::uint8_t>(h.chunk);
  }
  end_if_ended(handle, ended_before, f);
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

void event_builder::count_after_end(spill_table& spill, l2::fragment_place place, bool is_chunk) {
  const bool was_whole = spill.state(place.event_number) == spill_table::event_state::whole;
  if (was_whole && !is_chunk) return; // a trailer is not needed for a fragment to be complete
  if (is_chunk) (was_whole ? counters_.duplicate_chunks : counters_.late_chunks).add();
  if (was_whole ? spill.first_repeat(place.event_number, place.crate)
                : spill.first_touch(place.event_number, place.crate)) {
    counters_.fragments_seen.add();
    (was_whole ? counters_.fragments_duplicate : counters_.fragments_late).add();
  }
}

void event_builder::see(fragment_assembly& f) {
  if (f.seen) return;
  f.seen = true;
  ++open_fragments_;
  counters_.fragments_seen.add();
}

void event_builder::end_if_ended(std::uint32_t handle, bool ended_before,
                                 const fragment_assembly& f) {
  if (ended_before || !f.ended()) return;
  event_assembly& e = events_[handle];
  if (++e.ended == e.fragments.size()) all_fragments_ended(handle);
}

} // namespace l3
