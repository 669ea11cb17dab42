// SPDX-License-Identifier: Apache-2.0
// Which spill a datagram belongs to. A trailer and most chunks name it, and the spill tracker says
// whether it is one of those being taken. A chunk that does not name it goes at once where the
// latest sibling in its fragment went, if that fragment lacks it; otherwise a copy of it waits for
// the next sibling (unstated_chunks.hpp). Changes no event and counts nothing: the event builder
// takes what is resolved here. Guarded by its lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/building/arrived_chunk.hpp"
#include "transport/building/event_assembler.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/building/unstated_chunks.hpp"

namespace l3 {

class spill_resolver {
public:
  /// All of these must outlive this object.
  spill_resolver(const building_settings& settings, spill_tracker& spills,
                 const event_assembler& events);

  /// The spill of a chunk, nullptr if that is far from those being taken; nothing if a copy of the
  /// chunk waits now.
  [[nodiscard]] std::optional<spill_table*> resolve(const arrived_chunk& c, time_point now);
  /// The spill of a trailer, or of an end of spill; nullptr if it is far from those being taken.
  [[nodiscard]] spill_table* resolve_trailer(const l2::datagram_header& h, time_point now);
  [[nodiscard]] spill_table* resolve_end(const l2::datagram_header& h, time_point now);

  // Chunks that wait. The bytes of one that is taken out stay until the next must wait.

  /// No further chunk can wait.
  [[nodiscard]] bool full() const { return waiting_.full(); }
  /// Takes out a chunk of the fragment, whose spill a sibling has just named.
  [[nodiscard]] std::optional<arrived_chunk> take_waiting(std::uint32_t fragment_id) {
    if (!waiting_.may_have(fragment_id)) return std::nullopt; // the usual case
    return arrived(waiting_.take(fragment_id));
  }
  /// A chunk that no sibling came after. `spill` is nullptr if no spill has begun.
  struct unnamed_chunk {
    arrived_chunk chunk;
    spill_table* spill = nullptr;
  };
  /// Takes out the chunk that has waited longest; the second, only if it has waited too long.
  [[nodiscard]] std::optional<unnamed_chunk> take_oldest() {
    return without_sibling(waiting_.take_oldest());
  }
  [[nodiscard]] std::optional<unnamed_chunk> take_expired(time_point now) {
    return without_sibling(waiting_.take_expired(now));
  }

  /// Memory of the chunks that may wait and of the siblings' spills.
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings) {
    return unstated_chunks::memory_plan(settings.chunk_bytes);
  }

private:
  using waiting_chunk = unstated_chunks::waiting_chunk;

  [[nodiscard]] bool is_wanted(const spill_table& spill, const arrived_chunk& c) const;
  [[nodiscard]] std::optional<arrived_chunk> arrived(const std::optional<waiting_chunk>& w) const;
  [[nodiscard]] std::optional<unnamed_chunk> without_sibling(const std::optional<waiting_chunk>& w);

  const building_settings& settings_;
  spill_tracker& spills_;
  const event_assembler& events_;
  unstated_chunks waiting_;
};

} // namespace l3
