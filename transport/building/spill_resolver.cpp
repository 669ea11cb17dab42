// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_resolver.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace l3 {
namespace {

using event_state = spill_table::event_state;

/// A number that distinguishes datagrams that name a spill.
std::uint64_t statement_of(const l2::datagram_header& h, bool is_trailer) {
  constexpr std::uint64_t trailer_bit = std::uint64_t{1} << 63;
  const std::uint64_t which = (std::uint64_t{h.fragment_id} << 16 | (h.chunk & 0xffffU)) + 1;
  return is_trailer ? which | trailer_bit : which;
}

std::uint64_t bit_of(l2::fragment_place p) { return std::uint64_t{1} << p.crate; }

} // namespace

unstated_chunks::unstated_chunks(std::uint32_t chunk_bytes)
    : chunk_bytes_(chunk_bytes), siblings_(remembered), expected_(remembered),
      memory_(chunk_bytes_ * places) {
  waiting_.reserve(places);
  free_.reserve(places);
  for (std::uint32_t slot = places; slot > 0; --slot) free_.push_back(slot - 1);
}

std::optional<std::uint32_t> unstated_chunks::spill_of(std::uint32_t fragment_id,
                                                       time_point now) const {
  const sibling& s = siblings_[index_of(fragment_id)];
  if (s.fragment_id != fragment_id || now >= s.time + patience) return std::nullopt;
  return s.spill;
}

void unstated_chunks::hold(const l2::datagram_header& header, std::span<const std::byte> bytes,
                           time_point now) {
  assert(!full());
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  std::memcpy(memory_.data() + slot * chunk_bytes_, bytes.data(), bytes.size());
  waiting_.push_back({header, static_cast<std::uint32_t>(bytes.size()), slot, now});
  ++expected_[index_of(header.fragment_id)];
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take(std::uint32_t fragment_id) {
  const auto at = std::ranges::find_if(waiting_, [fragment_id](const waiting_chunk& c) {
    return c.header.fragment_id == fragment_id;
  });
  if (at == waiting_.end()) return std::nullopt;
  return remove(at);
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take_oldest() {
  if (waiting_.empty()) return std::nullopt;
  return remove(waiting_.begin());
}

std::optional<unstated_chunks::waiting_chunk> unstated_chunks::take_expired(time_point now) {
  if (waiting_.empty() || now - waiting_.front().since < patience) return std::nullopt;
  return remove(waiting_.begin());
}

unstated_chunks::waiting_chunk unstated_chunks::remove(std::vector<waiting_chunk>::iterator at) {
  const waiting_chunk c = *at;
  waiting_.erase(at);
  free_.push_back(c.slot);
  --expected_[index_of(c.header.fragment_id)];
  return c;
}

spill_resolver::spill_resolver(const building_settings& settings, spill_tracker& spills,
                               const event_assembler& events)
    : settings_(settings), spills_(spills), events_(events), waiting_(settings.chunk_bytes) {}

std::optional<spill_table*> spill_resolver::resolve(const arrived_chunk& c, time_point now) {
  const std::uint32_t fragment = c.header.fragment_id;
  if (const auto named = c.summary.spill) {
    waiting_.note(fragment, *named, now);
    return spills_.stated(*named, statement_of(c.header, false), now, bit_of(c.place));
  }
  // If the fragment does not want it, it may be a duplicate, or belong to the same fragment id in
  // the next spill: the next sibling tells.
  if (const auto named = waiting_.spill_of(fragment, now)) {
    auto* spill = spills_.find(*named);
    if (spill != nullptr && is_wanted(*spill, c)) return spill;
  }
  waiting_.hold(c.header, c.bytes, now);
  return std::nullopt;
}

spill_table* spill_resolver::resolve_trailer(const arrived_chunk& c, time_point now) {
  const std::uint32_t named = l2::trailer::unpack(c.header.discriminator).spill;
  waiting_.note(c.header.fragment_id, named, now);
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
  if (spill.state(number) != event_state::open) return false;
  const std::uint32_t handle = spill.handle(number);
  return events_.wants(handle, c) && (spill.proven || events_.has_chunks(handle, c.place.crate));
}

std::optional<arrived_chunk> spill_resolver::arrived(const std::optional<waiting_chunk>& w) const {
  if (!w) return std::nullopt;
  arrived_chunk c{.header = w->header,
                  .place = l2::place_of(w->header.fragment_id, settings_.crates.size()),
                  .bytes = {waiting_.memory_of(*w), w->bytes},
                  .summary = {}};
  c.summarize(settings_.chunk_bytes);
  return c;
}

/// If a sibling came shortly before the chunk, the chunk is a repeat; otherwise its siblings were
/// lost.
std::optional<spill_resolver::unnamed_chunk>
spill_resolver::without_sibling(const std::optional<waiting_chunk>& w) {
  const auto c = arrived(w);
  if (!c) return std::nullopt;
  const auto named = waiting_.spill_of(w->header.fragment_id, w->since);
  return unnamed_chunk{*c, named ? spills_.find(*named) : spills_.unstated(c->place.event_number)};
}

} // namespace l3
