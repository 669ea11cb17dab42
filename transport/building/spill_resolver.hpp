// SPDX-License-Identifier: Apache-2.0
// Which spill a datagram belongs to. A trailer and most chunks name it, and the spill tracker says
// whether it is one of those being taken. A chunk that does not name it goes at once where the
// latest sibling in its fragment went, if that fragment lacks it; otherwise a copy of it waits for
// the next sibling. Changes no event and counts nothing: the event builder takes what is resolved
// here. Guarded by its lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/arrived_chunk.hpp"
#include "transport/building/event_assembler.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// Chunks that do not name their spill: most last chunks hold no board header, and the same event
/// number comes again in every spill. Their siblings, the fragment's other chunks and its trailer,
/// do name it, and are sent within microseconds of each other. So this class remembers for each
/// fragment the spill that the latest sibling named, and keeps a copy of a chunk that comes before
/// its siblings until one of them comes or its patience ends. All memory is taken once.
class unstated_chunks {
public:
  /// How far apart siblings can arrive: a receiver reads its ports in turn, and its threads may be
  /// held up by milliseconds. Far less than a spill, after which the same fragment id comes again.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);

  explicit unstated_chunks(std::uint32_t chunk_bytes);

  /// Call when a datagram of this fragment has named its spill.
  void note(std::uint32_t fragment_id, std::uint32_t spill, time_point now) {
    siblings_[index_of(fragment_id)] = {fragment_id, spill, now};
  }
  /// The spill that the latest sibling named, if that was not long before `now`.
  [[nodiscard]] std::optional<std::uint32_t> spill_of(std::uint32_t fragment_id,
                                                      time_point now) const;

  /// Memory of the chunks that may wait and of the siblings' spills.
  [[nodiscard]] static std::size_t memory_plan(std::uint32_t chunk_bytes) {
    return std::size_t{chunk_bytes} * places +
           remembered * (sizeof(sibling) + sizeof(std::uint16_t));
  }

  struct waiting_chunk {
    l2::datagram_header header;
    std::uint32_t bytes = 0;
    std::uint32_t slot = 0;
    time_point since{};
  };
  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Keeps a copy; it must not be full.
  void hold(const l2::datagram_header& header, std::span<const std::byte> bytes, time_point now);
  /// False if no chunk of this fragment waits, which is the usual case.
  [[nodiscard]] bool may_have(std::uint32_t fragment_id) const {
    return expected_[index_of(fragment_id)] != 0;
  }
  /// Takes out a waiting chunk of this fragment, if there is one.
  [[nodiscard]] std::optional<waiting_chunk> take(std::uint32_t fragment_id);
  /// Takes out the chunk that has waited longest; the second, only if it has waited too long.
  [[nodiscard]] std::optional<waiting_chunk> take_oldest();
  [[nodiscard]] std::optional<waiting_chunk> take_expired(time_point now);
  /// The bytes of a chunk that was taken out, until the next is held.
  [[nodiscard]] const std::byte* memory_of(const waiting_chunk& c) const {
    return memory_.data() + c.slot * chunk_bytes_;
  }

private:
  struct sibling {
    std::uint32_t fragment_id = 0;
    std::uint32_t spill = 0;
    time_point time{};
  };

  /// One thread reads at most 64 datagrams from each of 8 ports in a round, and with chunks of 1400
  /// bytes a third of them are unstated: that needs 170. The rest is for threads that are held up.
  static constexpr std::uint32_t places = 1024;
  /// Fragments whose siblings' spill is remembered: over 200 events of the default readout. A power
  /// of 2.
  static constexpr std::uint32_t remembered = 4096;
  static constexpr std::uint32_t index_of(std::uint32_t fragment_id) {
    return fragment_id & (remembered - 1);
  }

  waiting_chunk remove(std::vector<waiting_chunk>::iterator at);

  std::size_t chunk_bytes_;
  std::vector<sibling> siblings_;       // latest fragments, by the low bits of their ids
  std::vector<std::uint16_t> expected_; // waiting chunks, by the same bits
  std::vector<waiting_chunk> waiting_;  // the oldest first
  std::vector<std::uint32_t> free_;     // slots of memory_
  std::vector<std::byte> memory_;
};

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
