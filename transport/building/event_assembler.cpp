// SPDX-License-Identifier: Apache-2.0
#include "transport/building/event_assembler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace l3 {
namespace {

/// Number of open events without a place, which are only counted.
constexpr std::uint32_t min_open_events = 64;

std::uint64_t below(std::uint32_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

std::uint32_t most_events(const building_settings& settings, const batch_capacity& capacity) {
  return 2 * capacity.events + settings.parked_events + std::max(min_open_events, capacity.events) +
         1;
}

} // namespace

event_assembler::event_assembler(const building_settings& settings, const batch_capacity& capacity,
                                 held_batches& batches, building_counters& counters)
    : settings_(settings), max_chunks_(settings.max_chunks()), batches_(batches),
      counters_(counters),
      events_(most_events(settings, capacity), settings.crates.size(), max_chunks_),
      parking_(settings.parked_events, settings.crates.size(), settings.chunk_bytes, max_chunks_) {}

std::size_t event_assembler::memory_plan(const building_settings& settings,
                                         const batch_capacity& capacity) {
  return assembly_pool::memory_plan(most_events(settings, capacity), settings.crates.size(),
                                    settings.max_chunks());
}

std::uint32_t event_assembler::open(spill_table& spill, std::uint32_t number, time_point now) {
  const std::uint32_t handle = events_.take();
  event_assembly& e = events_[handle];
  e.spill = &spill;
  e.number = number;
  e.began_at = now;
  if (!batches_.current_is_full()) {
    e.place = event_place::batch;
    e.batch = batches_.current();
    ++e.batch->reserved;
    ++e.batch->open;
  }
  spill.open(number, handle);
  return handle;
}

void event_assembler::add_chunk(std::uint32_t handle, const arrived_chunk& c, time_point now) {
  event_assembly& e = events_[handle];
  fragment_assembly& f = e.fragments[c.place.crate];
  const bool ended_before = f.ended();
  const std::uint32_t chunk = c.header.chunk;
  const std::uint64_t bit = std::uint64_t{1} << chunk;
  see(e, c.place.crate);
  hear_of(e, now);
  if (f.problem == malformed::chunk_count) return;
  if ((f.have & bit) != 0) {
    compare_chunk(e, c);
    return end_if_ended(handle, ended_before, f, now);
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
    const bool placed = e.place == event_place::batch && place_in_batch(e, f, c);
    if (!placed) place_elsewhere(handle, c);
    e.board_slots[c.place.crate * max_chunks_ + chunk] = c.summary.slots;
    f.sums.add(c.summary, *e.spill->number);
    f.have |= bit;
    if (c.slot == nullptr) f.early = true;
  }
  end_if_ended(handle, ended_before, f, now);
}

void event_assembler::add_trailer(std::uint32_t handle, std::uint32_t crate, std::uint32_t chunks,
                                  time_point now) {
  event_assembly& e = events_[handle];
  fragment_assembly& f = e.fragments[crate];
  e.verified = true;
  const bool ended_before = f.ended();
  see(e, crate);
  hear_of(e, now);
  f.trailer = true;
  const bool disagrees = (f.chunks != 0 && f.chunks != chunks) || (f.have & ~below(chunks)) != 0;
  if (disagrees) {
    f.problem = malformed::chunk_count;
  } else {
    f.chunks = static_cast<std::uint8_t>(chunks);
  }
  end_if_ended(handle, ended_before, f, now);
}

bool event_assembler::wants(std::uint32_t handle, const arrived_chunk& c) const {
  const auto& f = events_[handle].fragments[c.place.crate];
  return (f.have >> c.header.chunk & 1) == 0 || f.early;
}

bool event_assembler::has_chunks(std::uint32_t handle, std::uint32_t crate) const {
  return events_[handle].fragments[crate].have != 0;
}

void event_assembler::see(const event_assembly& e, std::uint32_t crate) {
  fragment_assembly& f = e.fragments[crate];
  if (f.seen) return;
  f.seen = true;
  ++open_fragments_;
  counters_.fragments_seen.add(crate);
  counters_.latest.set(crate, {*e.spill->number, e.number});
}

/// A part of the event has arrived: its closed batch waits longer for the rest.
void event_assembler::hear_of(event_assembly& e, time_point now) {
  if (e.batch != nullptr && e.batch->closed) e.batch->wait_from(now);
}

void event_assembler::compare_chunk(event_assembly& e, const arrived_chunk& c) {
  fragment_assembly& f = e.fragments[c.place.crate];
  const std::uint32_t chunk = c.header.chunk;
  const std::byte* kept = memory_of(e, c.place.crate, chunk);
  const bool same = c.bytes.size() == length_of(f, chunk) &&
                    (kept == nullptr || std::memcmp(kept, c.bytes.data(), c.bytes.size()) == 0);
  if (!same) {
    f.problem = malformed::conflicting_chunks;
    return;
  }
  counters_.duplicate_chunks.add();
  count_repeat(e, c.place.crate);
}

void event_assembler::count_repeat(const event_assembly& e, std::uint32_t crate) {
  if (std::exchange(e.fragments[crate].repeated, true)) return;
  counters_.fragments_seen.add(crate);
  counters_.fragments_duplicate.add(crate);
}

void event_assembler::place_elsewhere(std::uint32_t handle, const arrived_chunk& c) {
  event_assembly& e = events_[handle];
  if (e.place == event_place::batch) { // the batch has no free slot
    if (parking_is_full()) {
      leave_batch(e, false);
      e.place = event_place::nowhere;
    } else {
      park(handle);
    }
  }
  if (e.place != event_place::nowhere)
    parking_.put(e.parking_slot, c.place.crate, c.header.chunk, c.bytes);
}

bool event_assembler::place_in_batch(event_assembly& e, fragment_assembly& f,
                                     const arrived_chunk& c) {
  batch_in_use& batch = *e.batch;
  const auto bytes = static_cast<std::uint32_t>(c.bytes.size());
  piece_offset& where = piece(e, c.place.crate, c.header.chunk);
  const auto among_short =
      batch.landing.is_short(bytes) ? batch.landing.gather(bytes) : std::nullopt;
  if (!among_short && c.slot != nullptr && c.slot->batch == &batch) { // the usual case: it stays
    where = c.slot->offset;
    c.slot->kept = true;
  } else {
    const auto copy = among_short ? among_short : batch.landing.slot();
    if (!copy) return false;
    if (among_short) f.gathered = true;
    std::memcpy(batch.batch->bytes.data() + *copy, c.bytes.data(), bytes);
    where = *copy;
  }
  f.in_batch |= std::uint64_t{1} << c.header.chunk;
  return true;
}

/// A chunk that came before any datagram that names its spill may be a late one of another spill:
/// its event waits briefly for the true chunk, which is then compared.
void event_assembler::end_if_ended(std::uint32_t handle, bool ended_before,
                                   const fragment_assembly& f, time_point now) {
  if (ended_before || !f.ended()) return;
  event_assembly& e = events_[handle];
  ++e.ended;
  if (!e.all_ended()) return;
  const bool doubtful = e.place != event_place::nowhere &&
                        std::ranges::any_of(e.fragments, &fragment_assembly::early);
  if (!doubtful) return queue(handle, assembly_state::ready);
  if (e.state != assembly_state::filling) return;
  e.doubtful_until = now + doubt_limit;
  e.state = assembly_state::doubtful;
  doubtful_.push_back(handle);
}

void event_assembler::end_doubts(time_point now, time_point read_up_to) {
  while (!doubtful_.empty()) {
    const event_assembly& e = events_[doubtful_.front()];
    if (now < e.doubtful_until && e.doubtful_until - doubt_limit > read_up_to) return;
    queue(doubtful_.front(), assembly_state::ready);
  }
}

void event_assembler::queue(std::uint32_t handle, assembly_state as) {
  assembly_state& state = events_[handle].state;
  if (state >= as) return;
  if (state == assembly_state::doubtful) std::erase(doubtful_, handle);
  if (state < assembly_state::ready) queue_.push_back(handle);
  state = as;
}

void event_assembler::count_overdue(time_point before) {
  for (auto h = events_.oldest(); h != event_assembly::none; h = events_.younger(h)) {
    event_assembly& e = events_[h];
    if (e.began_at >= before) return;
    if (std::exchange(e.overdue, true)) continue;
    const auto seen = std::ranges::count_if(e.fragments, &fragment_assembly::seen);
    if (!settings_.is_half(static_cast<std::size_t>(seen))) continue;
    for (std::size_t c = 0; c < e.fragments.size(); ++c)
      if (!e.fragments[c].ended()) counters_.fragments_overdue.add(c);
  }
}

void event_assembler::park(std::uint32_t handle) {
  event_assembly& e = events_[handle];
  const auto slot = parking_.take();
  counters_.parked.add();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    for (std::uint64_t left = f.in_batch; left != 0; left &= left - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
      const std::uint32_t bytes = length_of(f, i);
      parking_.put(slot, c, i, {memory_of(e, c, i), bytes});
      counters_.parked_bytes.add(bytes);
    }
  }
  leave_batch(e, false);
  e.place = event_place::parking;
  e.parking_slot = slot;
}

/// Releases the event's room in its batch; a stored event keeps its chunks.
void event_assembler::leave_batch(event_assembly& e, bool stored) {
  --e.batch->open;
  if (!stored) --e.batch->reserved;
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    auto& f = e.fragments[c];
    const bool carried = stored && f.whole() && f.problem != malformed::chunk_count;
    std::uint64_t slots = carried ? 0 : std::exchange(f.in_batch, 0);
    if (f.gathered && f.chunks != 0) slots &= below(f.chunks - 1U);
    for (; slots != 0; slots &= slots - 1)
      e.batch->landing.give_back(piece(e, c, static_cast<std::uint32_t>(std::countr_zero(slots))));
  }
  e.batch = nullptr;
}

std::size_t event_assembler::parked_bytes(const event_assembly& e) const {
  std::size_t bytes = 0;
  for (const auto& f : e.fragments) {
    if (f.whole()) bytes += landing_area::region_bytes(bytes_of(f));
  }
  return bytes;
}

void event_assembler::collect(std::uint32_t handle, candidate_event& out) {
  event_assembly& e = events_[handle];
  out.fragments.clear();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    if (!f.seen) continue;
    arrived_fragment& a = out.fragments.emplace_back();
    a.crate = static_cast<std::uint8_t>(c);
    a.problem = f.problem;
    a.whole = f.whole() && f.problem != malformed::chunk_count;
    a.where.bytes = a.whole ? bytes_of(f) : 0;
    if (a.whole) {
      a.slots_of_chunks = e.board_slots.subspan(c * max_chunks_, f.chunks);
      a.sums = f.sums;
    }
    if (a.whole && e.place == event_place::batch) {
      a.where.memory = e.batch->batch->bytes.data();
      a.where.pieces = &piece(e, c, 0);
      a.where.piece_bytes = settings_.chunk_bytes;
    } else if (a.whole && e.place == event_place::parking) {
      a.where.memory = parking_.fragment(e.parking_slot, c);
      out.own_piece(c) = 0;
      a.where.pieces = &out.own_piece(c);
      a.where.piece_bytes = static_cast<std::uint32_t>(round_up(a.where.bytes, 4));
    }
  }
}

void event_assembler::release(std::uint32_t handle, bool stored) {
  event_assembly& e = events_[handle];
  if (e.place == event_place::parking) parking_.give_back(e.parking_slot);
  if (e.place == event_place::batch) leave_batch(e, stored);
  if (e.state == assembly_state::doubtful) std::erase(doubtful_, handle);
  if (e.state >= assembly_state::ready) std::erase(queue_, handle);
  open_fragments_ -=
      static_cast<std::uint64_t>(std::ranges::count_if(e.fragments, &fragment_assembly::seen));
  events_.give_back(handle);
}

std::uint32_t event_assembler::length_of(const fragment_assembly& f, std::uint32_t chunk) const {
  return f.last_bytes != 0 && chunk + 1 == f.chunks ? f.last_bytes : settings_.chunk_bytes;
}

std::uint32_t event_assembler::bytes_of(const fragment_assembly& f) const {
  return (f.chunks - 1U) * settings_.chunk_bytes + length_of(f, f.chunks - 1U);
}

/// Returns nullptr if the chunk was not kept.
const std::byte* event_assembler::memory_of(event_assembly& e, std::uint32_t crate,
                                            std::uint32_t chunk) {
  if ((e.fragments[crate].in_batch >> chunk & 1) != 0)
    return e.batch->batch->bytes.data() + piece(e, crate, chunk);
  return e.place != event_place::nowhere ? parking_.chunk(e.parking_slot, crate, chunk) : nullptr;
}

} // namespace l3
