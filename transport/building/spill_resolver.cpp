// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_resolver.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace l3 {
namespace {

/// A number that distinguishes datagrams that name a spill.
std::uint64_t statement_of(const l2::datagram_header& h, bool is_trailer) {
  constexpr std::uint64_t trailer_bit = std::uint64_t{1} << 63;
  const std::uint64_t which = (std::uint64_t{h.fragment_id} << 16 | (h.chunk & 0xffffU)) + 1;
  return is_trailer ? which | trailer_bit : which;
}

std::uint64_t bit_of(l2::fragment_place p) { return std::uint64_t{1} << p.crate; }

} // namespace

spill_resolver::spill_resolver(const building_settings& settings, spill_tracker& spills,
                               const event_assembler& events)
    : chunk_bytes_(settings.chunk_bytes), spills_(spills), events_(events), siblings_(remembered),
      expected_(remembered), memory_(chunk_bytes_ * places) {
  waiting_.reserve(places);
  free_.reserve(places);
  for (std::uint32_t slot = places; slot > 0; --slot) free_.push_back(slot - 1);
}

std::optional<spill_table*> spill_resolver::resolve(const arrived_chunk& c, time_point now) {
  const std::uint32_t fragment = c.header.fragment_id;
  if (const auto named = c.summary.spill) {
    note(fragment, *named, now);
    return spills_.stated(*named, statement_of(c.header, false), now, bit_of(c.place));
  }
  // If the fragment does not want it, it may be a duplicate, or belong to the same fragment id in
  // the next spill: the next sibling tells.
  if (const auto named = spill_of(fragment, now)) {
    auto* spill = spills_.find(*named);
    if (spill != nullptr && is_wanted(*spill, c)) return spill;
  }
  hold(c, now);
  return std::nullopt;
}

spill_table* spill_resolver::resolve_trailer(const arrived_chunk& c, time_point now) {
  const std::uint32_t named = l2::trailer::unpack(c.header.discriminator).spill;
  note(c.header.fragment_id, named, now);
  return spills_.stated(named, statement_of(c.header, true), now, bit_of(c.place));
}

spill_table* spill_resolver::resolve_end(const l2::datagram_header& h, time_point now) {
  const std::uint32_t named = l2::trailer::unpack(h.discriminator).spill;
  return spills_.stated(named, statement_of(h, true) ^ h.discriminator, now);
}

/// Whether the chunk's event is open and lacks the chunk or doubts it. Trailers of an unproven
/// spill may be strays, so they attract no chunk that may belong to another spill.
bool spill_resolver::is_wanted(const spill_table& spill, const arrived_chunk& c) const {
  const std::uint32_t number = c.place.event_number;
  if (!spill.is_open(number)) return false;
  const auto& f = events_[spill.handle(number)].fragments[c.place.crate];
  const bool is_lacking = (f.have >> c.header.chunk & 1) == 0 || f.early;
  return is_lacking && (spill.proven || f.have != 0);
}

/// The spill of the fragment's latest sibling, if it came shortly before `now`.
std::optional<std::uint32_t> spill_resolver::spill_of(std::uint32_t fragment_id,
                                                      time_point now) const {
  const sibling& s = siblings_[index_of(fragment_id)];
  if (s.fragment_id != fragment_id || now >= s.time + patience) return std::nullopt;
  return s.spill;
}

void spill_resolver::hold(const arrived_chunk& c, time_point now) {
  assert(!full());
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  std::byte* const copy = memory_.data() + slot * chunk_bytes_;
  std::memcpy(copy, c.bytes.data(), c.bytes.size());
  waiting_.push_back({c, slot, now});
  waiting_.back().chunk.bytes = {copy, c.bytes.size()};
  waiting_.back().chunk.slot = nullptr;
  ++expected_[index_of(c.header.fragment_id)];
}

spill_resolver::waiting_chunk spill_resolver::remove(std::vector<waiting_chunk>::iterator at) {
  const waiting_chunk c = *at;
  waiting_.erase(at);
  free_.push_back(c.slot);
  --expected_[index_of(c.chunk.header.fragment_id)];
  return c;
}

std::optional<arrived_chunk> spill_resolver::take_waiting(std::uint32_t fragment_id) {
  if (expected_[index_of(fragment_id)] == 0) return std::nullopt; // the usual case
  const auto at = std::ranges::find_if(waiting_, [fragment_id](const waiting_chunk& c) {
    return c.chunk.header.fragment_id == fragment_id;
  });
  if (at == waiting_.end()) return std::nullopt;
  return remove(at).chunk;
}

/// If a sibling came shortly before the chunk, the chunk is a repeat; otherwise its siblings were
/// lost.
std::optional<spill_resolver::unnamed_chunk> spill_resolver::take_oldest(time_point then) {
  if (waiting_.empty() || waiting_.front().since > then) return std::nullopt;
  const waiting_chunk c = remove(waiting_.begin());
  const auto named = spill_of(c.chunk.header.fragment_id, c.since);
  return unnamed_chunk{c.chunk,
                       named ? spills_.find(*named) : spills_.unstated(c.chunk.place.event_number)};
}

} // namespace l3
