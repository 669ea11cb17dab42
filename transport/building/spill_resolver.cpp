// SPDX-License-Identifier: Apache-2.0
#include "transport/building/spill_resolver.hpp"

#include <algorithm>

namespace l3 {
namespace {

using event_state = spill_table::event_state;

/// A number by which datagrams that name a spill differ.
std::uint64_t statement_of(const l2::datagram_header& h, bool is_trailer) {
  constexpr std::uint64_t trailer_bit = std::uint64_t{1} << 63;
  const std::uint64_t which = (std::uint64_t{h.fragment_id} << 16 | (h.chunk & 0xffffU)) + 1;
  return is_trailer ? which | trailer_bit : which;
}

} // namespace

spill_resolver::spill_resolver(const building_settings& settings, spill_tracker& spills,
                               const event_assembler& events)
    : settings_(settings), spills_(spills), events_(events), waiting_(settings.chunk_bytes) {}

std::optional<spill_table*> spill_resolver::resolve(const arrived_chunk& c, time_point now) {
  const std::uint32_t fragment = c.header.fragment_id;
  if (const auto named = c.summary.spill) {
    waiting_.note(fragment, *named, now);
    return spills_.stated(*named, statement_of(c.header, false), now);
  }
  // If the fragment does not want it, it may be a duplicate, or belong to the next spill's fragment
  // with this id: the next sibling tells.
  if (const auto named = waiting_.spill_of(fragment, now)) {
    auto* spill = spills_.find(*named);
    if (spill != nullptr && is_wanted(*spill, c)) return spill;
  }
  waiting_.hold(c.header, c.bytes, now);
  return std::nullopt;
}

spill_table* spill_resolver::resolve_trailer(const l2::datagram_header& h, time_point now) {
  const std::uint32_t named = l2::trailer::unpack(h.discriminator).spill;
  auto* spill = spills_.stated(named, statement_of(h, true), now);
  waiting_.note(h.fragment_id, named, now);
  return spill;
}

spill_table* spill_resolver::resolve_end(const l2::datagram_header& h, time_point now) {
  const std::uint32_t named = l2::trailer::unpack(h.discriminator).spill;
  return spills_.stated(named, statement_of(h, true) ^ h.discriminator, now);
}

/// Whether the chunk's event is being assembled and lacks the chunk, or is in doubt about it. As
/// long as a spill is not proven, its trailers may be strays: they draw no chunk that may be
/// another spill's.
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
