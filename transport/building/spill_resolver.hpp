// SPDX-License-Identifier: Apache-2.0
// Finds the spill of a datagram. A trailer and most chunks name it, and the spill tracker says
// whether it is a current one. Most last chunks hold no board header and name none, and the same
// event number comes again in every spill. Such a chunk goes at once to the spill of the latest
// sibling in its fragment, if that fragment lacks it; otherwise a copy of it waits for the next
// sibling, or until its time is up. This class changes no event and counts nothing; the event
// builder does. All memory is allocated once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/building/arrived_chunk.hpp"
#include "transport/building/event_assembler.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_tracker.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class spill_resolver {
public:
  /// The longest time between siblings, which are sent within microseconds of each other: a
  /// receiver reads its ports in turn, and its threads may be delayed by milliseconds. Much shorter
  /// than a spill, after which the same fragment id comes again.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);

  /// All arguments must outlive this object.
  spill_resolver(const building_settings& settings, spill_tracker& spills,
                 const event_assembler& events);

  /// The spill of a chunk, or nullptr if it is far from the current ones. Nothing if a copy of the
  /// chunk waits now: there must be room for it.
  [[nodiscard]] std::optional<spill_table*> resolve(const arrived_chunk& c, time_point now);
  /// The spill of a trailer, or of an end of spill; nullptr if it is far from the current ones.
  [[nodiscard]] spill_table* resolve_trailer(const arrived_chunk& c, time_point now);
  [[nodiscard]] spill_table* resolve_end(const l2::datagram_header& h, time_point now);

  // Waiting chunks. The bytes of a removed chunk are valid until the next chunk must wait.

  /// Whether no further chunk can wait.
  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Removes and returns a chunk of the fragment, whose spill a sibling has just named.
  [[nodiscard]] std::optional<arrived_chunk> take_waiting(std::uint32_t fragment_id);
  /// A chunk without a later sibling. `spill` is nullptr if no spill has begun.
  struct unnamed_chunk {
    arrived_chunk chunk;
    spill_table* spill = nullptr;
  };
  /// Removes and returns the chunk that has waited longest, if its wait began by `then`.
  [[nodiscard]] std::optional<unnamed_chunk> take_oldest(time_point then = never);

  /// Memory of waiting chunks and of the siblings' spills.
  [[nodiscard]] static std::size_t memory_plan(const building_settings& settings) {
    return std::size_t{settings.chunk_bytes} * places +
           remembered * (sizeof(sibling) + sizeof(std::uint16_t));
  }

private:
  struct sibling {
    std::uint32_t fragment_id = 0;
    std::uint32_t spill = 0;
    time_point time{};
  };
  struct waiting_chunk {
    arrived_chunk chunk;
    std::uint32_t slot = 0;
    time_point since{};
  };

  /// One thread reads at most 128 datagrams of 8000 bytes from each of 8 ports in a round, and a
  /// sixth of them do not name their spill: that needs 170 places. The rest is for delayed threads.
  static constexpr std::uint32_t places = 1024;
  /// Fragments whose siblings' spill is remembered: more than 200 events of the default readout. A
  /// power of 2.
  static constexpr std::uint32_t remembered = 4096;
  static constexpr std::uint32_t index_of(std::uint32_t fragment_id) {
    return fragment_id & (remembered - 1);
  }

  void note(std::uint32_t fragment_id, std::uint32_t spill, time_point now) {
    siblings_[index_of(fragment_id)] = {fragment_id, spill, now};
  }
  [[nodiscard]] std::optional<std::uint32_t> spill_of(std::uint32_t fragment_id,
                                                      time_point now) const;
  [[nodiscard]] bool is_wanted(const spill_table& spill, const arrived_chunk& c) const;
  void hold(const arrived_chunk& c, time_point now);
  waiting_chunk remove(std::vector<waiting_chunk>::iterator at);

  const std::size_t chunk_bytes_;
  spill_tracker& spills_;
  const event_assembler& events_;
  std::vector<sibling> siblings_;       // latest fragments, by the low bits of their ids
  std::vector<std::uint16_t> expected_; // waiting chunks, by the same bits
  std::vector<waiting_chunk> waiting_;  // the oldest first
  std::vector<std::uint32_t> free_;     // slots of memory_
  std::vector<std::byte> memory_;
};

} // namespace l3
