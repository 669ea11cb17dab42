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

std::uint32_t most_events(const building_settings& settings, const batch_capacity& capacity) {
  return 2 * capacity.events + settings.parked_events + std::max(min_open_events, capacity.events) +
         1;
}

} // namespace

event_assembler::event_assembler(const building_settings& settings, const batch_capacity& capacity,
                                 held_batches& batches, building_counters& counters)
    : settings_(settings), max_chunks_(settings.max_chunks()), batches_(batches),
      counters_(counters), events_(most_events(settings, capacity)), parking_(settings) {
  const std::size_t crates = settings.crates.size();
  const std::size_t chunks = crates * max_chunks_;
  fragments_.resize(events_.size() * crates);
  pieces_.resize(events_.size() * chunks);
  board_slots_.resize(events_.size() * chunks);
  for (std::size_t n = events_.size(); n-- > 0;) {
    events_[n].fragments = std::span(fragments_).subspan(n * crates, crates);
    events_[n].pieces = std::span(pieces_).subspan(n * chunks, chunks);
    events_[n].board_slots = std::span(board_slots_).subspan(n * chunks, chunks);
    free_.push_back(&events_[n]);
  }
  open_.reserve(events_.size());
}

std::size_t event_assembler::memory_plan(const building_settings& settings,
                                         const batch_capacity& capacity) {
  const std::size_t of_a_fragment =
      sizeof(fragment_assembly) +
      settings.max_chunks() * (sizeof(piece_offset) + sizeof(std::uint16_t));
  return most_events(settings, capacity) *
         (settings.crates.size() * of_a_fragment + sizeof(event_assembly) + 2 * sizeof(void*));
}

event_assembly& event_assembler::open(spill_table& spill, std::uint32_t number, time_point now) {
  event_assembly& e = *open_.emplace_back(free_.back());
  free_.pop_back();
  e = {.spill = &spill,
       .number = number,
       .began_at = now,
       .fragments = e.fragments,
       .pieces = e.pieces,
       .board_slots = e.board_slots};
  std::ranges::fill(e.fragments, fragment_assembly{});
  if (!batches_.current_is_full()) {
    e.batch = batches_.current();
    ++e.batch->reserved;
    ++e.batch->open;
  }
  spill.open(number, static_cast<std::uint32_t>(&e - events_.data()));
  return e;
}

void event_assembler::add_chunk(event_assembly& e, const arrived_chunk& c, time_point now) {
  fragment_assembly& f = e.fragments[c.place.crate];
  const bool ended_before = f.ended();
  const std::uint32_t chunk = c.header.chunk;
  const std::uint64_t bit = std::uint64_t{1} << chunk;
  see(e, c.place.crate, now);
  if (f.problem == malformed::chunk_count) return;
  if ((f.have & bit) != 0) {
    compare_chunk(e, c);
    return end_if_ended(e, ended_before, f, now);
  }

  const bool last = c.bytes.size() < settings_.chunk_bytes;
  const bool beyond = f.chunks != 0 && chunk >= f.chunks;
  const bool too_early =
      last && ((f.chunks != 0 && f.chunks != chunk + 1) || (f.have & ~low_bits(chunk + 1)) != 0);
  if (beyond || too_early) {
    f.problem = malformed::chunk_count;
  } else {
    if (last) {
      f.chunks = static_cast<std::uint8_t>(chunk + 1);
      f.last_bytes = static_cast<std::uint32_t>(c.bytes.size());
    }
    const bool placed = e.batch != nullptr && place_in_batch(e, f, c);
    if (!placed) place_elsewhere(e, c);
    e.board_slots[c.place.crate * max_chunks_ + chunk] = c.summary.slots;
    f.sums.add(c.summary, *e.spill->number);
    f.have |= bit;
    if (c.slot == nullptr) f.early = true;
  }
  end_if_ended(e, ended_before, f, now);
}

void event_assembler::add_trailer(event_assembly& e, std::uint32_t crate, std::uint32_t chunks,
                                  time_point now) {
  fragment_assembly& f = e.fragments[crate];
  const bool ended_before = f.ended();
  e.verified = true;
  see(e, crate, now);
  f.trailer = true;
  const bool disagrees = (f.chunks != 0 && f.chunks != chunks) || (f.have & ~low_bits(chunks)) != 0;
  if (disagrees) {
    f.problem = malformed::chunk_count;
  } else {
    f.chunks = static_cast<std::uint8_t>(chunks);
  }
  end_if_ended(e, ended_before, f, now);
}

/// A part of the event has arrived: its closed batch waits longer for the rest.
void event_assembler::see(event_assembly& e, std::uint32_t crate, time_point now) {
  if (e.batch != nullptr && e.batch->closed) e.batch->wait_from(now);
  if (std::exchange(e.fragments[crate].seen, true)) return;
  ++open_fragments_;
  counters_.fragments_seen.add(crate);
  counters_.latest.set(crate, {*e.spill->number, e.number});
}

void event_assembler::compare_chunk(const event_assembly& e, const arrived_chunk& c) {
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
  if (std::exchange(f.repeated, true)) return;
  counters_.fragments_seen.add(c.place.crate);
  counters_.fragments_duplicate.add(c.place.crate);
}

void event_assembler::place_elsewhere(event_assembly& e, const arrived_chunk& c) {
  if (e.batch != nullptr && parking_is_full()) leave_batch(e, false); // it has no free slot
  if (e.batch != nullptr) park(e);
  if (e.parked == nullptr) return;
  std::byte* const to = parking_.chunk(e.parked, c.place.crate, c.header.chunk);
  std::memcpy(to, c.bytes.data(), c.bytes.size());
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
  return true;
}

/// A chunk that came before any datagram that names its spill may be a late one of another spill:
/// its event waits briefly for the true chunk, which is then compared.
void event_assembler::end_if_ended(event_assembly& e, bool ended_before, const fragment_assembly& f,
                                   time_point now) {
  if (ended_before || !f.ended()) return;
  ++e.ended;
  if (!e.all_ended()) return;
  const bool doubtful =
      e.has_place() && std::ranges::any_of(e.fragments, &fragment_assembly::early);
  if (!doubtful) return queue(e, assembly_state::ready);
  if (e.state != assembly_state::filling) return;
  e.doubtful_until = now + doubt_limit;
  e.state = assembly_state::doubtful;
  doubtful_.push_back(&e);
}

void event_assembler::end_doubts(time_point now, time_point read_up_to) {
  while (!doubtful_.empty()) {
    event_assembly& e = *doubtful_.front();
    if (now < e.doubtful_until && e.doubtful_until - doubt_limit > read_up_to) return;
    queue(e, assembly_state::ready);
  }
}

void event_assembler::queue(event_assembly& e, assembly_state as) {
  if (e.state >= as) return;
  if (e.state == assembly_state::doubtful) std::erase(doubtful_, &e);
  if (e.state < assembly_state::ready) queue_.push_back(&e);
  e.state = as;
}

void event_assembler::count_overdue(time_point before) {
  for (event_assembly* e : open_) {
    if (e->began_at >= before) return;
    if (std::exchange(e->overdue, true)) continue;
    const auto seen = std::ranges::count_if(e->fragments, &fragment_assembly::seen);
    if (!settings_.is_half(static_cast<std::size_t>(seen))) continue;
    for (std::size_t c = 0; c < e->fragments.size(); ++c)
      if (!e->fragments[c].ended()) counters_.fragments_overdue.add(c);
  }
}

void event_assembler::park(event_assembly& e) {
  std::byte* const event = parking_.take();
  counters_.parked.add();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    for (std::uint64_t left = f.have; left != 0; left &= left - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
      std::memcpy(parking_.chunk(event, c, i), memory_of(e, c, i), length_of(f, i));
      counters_.parked_bytes.add(length_of(f, i));
    }
  }
  leave_batch(e, false);
  e.parked = event;
}

/// Releases the event's room in its batch; a stored event keeps its chunks.
void event_assembler::leave_batch(event_assembly& e, bool stored) {
  --e.batch->open;
  if (!stored) --e.batch->reserved;
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    const bool carried = stored && f.whole() && f.problem != malformed::chunk_count;
    std::uint64_t slots = carried ? 0 : f.have;
    if (f.gathered && f.chunks != 0) slots &= low_bits(f.chunks - 1U);
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

void event_assembler::collect(const event_assembly& e, candidate_event& out) {
  out.fragments.clear();
  for (std::uint32_t c = 0; c < e.fragments.size(); ++c) {
    const auto& f = e.fragments[c];
    if (!f.seen) continue;
    arrived_fragment& a = out.fragments.emplace_back();
    a.crate = static_cast<std::uint8_t>(c);
    a.problem = f.problem;
    a.whole = f.whole() && f.problem != malformed::chunk_count;
    if (!a.whole) continue;
    a.slots_of_chunks = e.board_slots.subspan(c * max_chunks_, f.chunks);
    a.sums = f.sums;
    a.where.bytes = bytes_of(f);
    if (e.batch != nullptr) {
      a.where = {e.batch->batch->bytes.data(), &piece(e, c, 0), settings_.chunk_bytes,
                 a.where.bytes};
    } else if (e.parked != nullptr) {
      out.own_pieces[c] = 0;
      a.where = {parking_.chunk(e.parked, c, 0), &out.own_pieces[c],
                 static_cast<std::uint32_t>(round_up(a.where.bytes, 4)), a.where.bytes};
    }
  }
}

void event_assembler::release(event_assembly& e, bool stored) {
  if (e.parked != nullptr) parking_.give_back(e.parked);
  if (e.batch != nullptr) leave_batch(e, stored);
  if (e.state == assembly_state::doubtful) std::erase(doubtful_, &e);
  if (e.state >= assembly_state::ready) std::erase(queue_, &e);
  open_fragments_ -=
      static_cast<std::uint64_t>(std::ranges::count_if(e.fragments, &fragment_assembly::seen));
  std::erase(open_, &e);
  free_.push_back(&e);
}

std::uint32_t event_assembler::length_of(const fragment_assembly& f, std::uint32_t chunk) const {
  return f.last_bytes != 0 && chunk + 1 == f.chunks ? f.last_bytes : settings_.chunk_bytes;
}

std::uint32_t event_assembler::bytes_of(const fragment_assembly& f) const {
  return (f.chunks - 1U) * settings_.chunk_bytes + length_of(f, f.chunks - 1U);
}

/// Returns nullptr if the chunk was not kept.
const std::byte* event_assembler::memory_of(const event_assembly& e, std::uint32_t crate,
                                            std::uint32_t chunk) const {
  if (e.batch != nullptr) return e.batch->batch->bytes.data() + piece(e, crate, chunk);
  return e.parked != nullptr ? parking_.chunk(e.parked, crate, chunk) : nullptr;
}

} // namespace l3
