// SPDX-License-Identifier: Apache-2.0
// Finds the spill of a datagram. A trailer and most chunks name it, and the spill tracker says
// whether it is a current one. A chunk that does not name it goes at once to the spill of the
// latest sibling in its fragment, if that fragment lacks it; otherwise a copy of it waits for the
// next sibling. It changes no event and counts nothing; the event builder does.
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
/// fragment the spill of the latest sibling, and keeps a copy of a chunk that comes before its
/// siblings until one of them comes or its time is up. All memory is allocated once.
class unstated_chunks {
public:
  /// The longest time between siblings: a receiver reads its ports in turn, and its threads may be
  /// delayed by milliseconds. Much shorter than a spill, after which the same fragment id comes
  /// again.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);

  explicit unstated_chunks(std::uint32_t chunk_bytes);

  /// Call when a datagram of this fragment has named its spill.
  void note(std::uint32_t fragment_id, std::uint32_t spill, time_point now) {
    siblings_[index_of(fragment_id)] = {fragment_id, spill, now};
  }
  /// The spill of the latest sibling, if it came shortly before `now`.
  [[nodiscard]] std::optional<std::uint32_t> spill_of(std::uint32_t fragment_id,
                                                      time_point now) const;

  /// Memory of waiting chunks and of the siblings' spills.
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
  /// Keeps a copy. Must not be full.
  void hold(const l2::datagram_header& header, std::span<const std::byte> bytes, time_point now);
  /// Returns false if no chunk of this fragment waits, which is the usual case.
  [[nodiscard]] bool may_have(std::uint32_t fragment_id) const {
    return expected_[index_of(fragment_id)] != 0;
  }
  /// Removes and returns a waiting chunk of this fragment, if there is one.
  [[nodiscard]] std::optional<waiting_chunk> take(std::uint32_t fragment_id);
  /// Removes and returns the chunk that has waited longest; take_expired() only if its time is up.
  [[nodiscard]] std::optional<waiting_chunk> take_oldest();
  [[nodiscard]] std::optional<waiting_chunk> take_expired(time_point now);
  /// The bytes of a removed chunk, valid until the next hold().
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
  /// bytes a third of them do not name their spill: that needs 170 places. The rest is for delayed
  /// threads.
  static constexpr std::uint32_t places = 1024;
  /// Fragments whose siblings' spill is remembered: more than 200 events of the default readout. A
  /// power of 2.
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
  /// All arguments must outlive this object.
  spill_resolver(const building_settings& settings, spill_tracker& spills,
                 const event_assembler& events);

  /// The spill of a chunk, or nullptr if it is far from the current ones. Nothing if a copy of the
  /// chunk waits now.
  [[nodiscard]] std::optional<spill_table*> resolve(const arrived_chunk& c, time_point now);
  /// The spill of a trailer, or of an end of spill; nullptr if it is far from the current ones.
  [[nodiscard]] spill_table* resolve_trailer(const arrived_chunk& c, time_point now);
  [[nodiscard]] spill_table* resolve_end(const l2::datagram_header& h, time_point now);

  // Waiting chunks. The bytes of a removed chunk are valid until the next chunk must wait.

  /// Whether no further chunk can wait.
  [[nodiscard]] bool full() const { return waiting_.full(); }
  /// Removes and returns a chunk of the fragment, whose spill a sibling has just named.
  [[nodiscard]] std::optional<arrived_chunk> take_waiting(std::uint32_t fragment_id) {
    if (!waiting_.may_have(fragment_id)) return std::nullopt; // the usual case
    return arrived(waiting_.take(fragment_id));
  }
  /// A chunk without a later sibling. `spill` is nullptr if no spill has begun.
  struct unnamed_chunk {
    arrived_chunk chunk;
    spill_table* spill = nullptr;
  };
  /// Removes and returns the chunk that has waited longest; take_expired() only if its time is up.
  [[nodiscard]] std::optional<unnamed_chunk> take_oldest() {
    return without_sibling(waiting_.take_oldest());
  }
  [[nodiscard]] std::optional<unnamed_chunk> take_expired(time_point now) {
    return without_sibling(waiting_.take_expired(now));
  }

  /// Memory of waiting chunks and of the siblings' spills.
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
