// SPDX-License-Identifier: Apache-2.0
// Events being assembled from chunks: which chunks of which fragment have arrived, and where they
// are. Memory is reserved for a limited number of events that are incomplete when their batch
// closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/building/arrived_chunk.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/building/settings.hpp"
#include "transport/building/spill_table.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// One bit for each of the first `n` chunks.
constexpr std::uint64_t low_bits(std::uint32_t n) { return (std::uint64_t{1} << n) - 1; }

/// One cache line.
struct alignas(64) fragment_assembly {
  std::uint64_t have = 0;       ///< bit i: chunk i has arrived
  fragment_sums sums;           ///< of the arrived chunks
  std::uint32_t last_bytes = 0; ///< length of the last chunk, once it has arrived
  std::uint8_t chunks = 0;      ///< of the whole fragment; 0: not known yet
  bool seen = false;
  bool repeated = false; ///< a chunk came more than once
  bool gathered = false; ///< the last chunk is stored among other short ones
  bool trailer = false;  ///< its trailer has arrived
  /// A chunk came before any datagram that names its spill, so it may belong to another spill. Then
  /// the true chunk comes before the trailer or shortly after it.
  bool early = false;
  std::optional<malformed> problem;

  [[nodiscard]] bool whole() const { return chunks != 0 && have == low_bits(chunks); }
  /// Whether the builder waits for no more of its chunks.
  [[nodiscard]] bool ended() const {
    return (whole() && (!early || trailer)) || problem == malformed::chunk_count;
  }
};

/// An event is filling until all its fragments have ended. If a chunk may belong to another spill,
/// it is then briefly doubtful. It is ready to end when it has room, or due to end with or without
/// room.
enum class assembly_state : std::uint8_t { filling, doubtful, ready, due };

/// Its chunks are in a batch, or in the parking area. Without a free frame they are nowhere, and
/// the event is only counted.
struct event_assembly {
  spill_table* spill = nullptr;
  std::uint32_t number = 0;
  time_point began_at{};
  assembly_state state = assembly_state::filling;
  time_point doubtful_until{};
  batch_in_use* batch = nullptr; ///< its batch, if it has one
  std::byte* parked = nullptr;   ///< its memory in the parking area, if it is there
  std::uint32_t ended = 0;       ///< number of ended fragments
  bool verified = false;         ///< a datagram of the event named its spill
  bool overdue = false;          ///< it has waited long, and its missing fragments are counted

  std::span<fragment_assembly> fragments; ///< by crate
  std::span<piece_offset> pieces;         ///< `max_chunks` per fragment; offsets in the batch
  std::span<std::uint16_t> board_slots;   ///< likewise; from the chunks' summaries

  [[nodiscard]] bool all_ended() const { return ended == fragments.size(); }
  [[nodiscard]] bool has_place() const { return batch != nullptr || parked != nullptr; }
};

/// Memory for events that wait outside the frames. A parked fragment is contiguous: chunk i is at i
/// × chunk_bytes.
class parking {
public:
  explicit parking(const building_settings& s)
      : chunk_bytes_(s.chunk_bytes), fragment_bytes_(chunk_bytes_ * s.max_chunks()),
        memory_(memory_plan(s)) {
    const std::size_t event_bytes = fragment_bytes_ * s.crates.size();
    for (std::size_t e = s.parked_events; e > 0; --e)
      free_.push_back(memory_.data() + (e - 1) * event_bytes);
  }

  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Memory for one event; the area must not be full.
  [[nodiscard]] std::byte* take() {
    std::byte* const event = free_.back();
    free_.pop_back();
    return event;
  }
  void give_back(std::byte* event) { free_.push_back(event); }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& s) {
    return std::size_t{s.chunk_bytes} * s.max_chunks() * s.crates.size() * s.parked_events;
  }

  [[nodiscard]] std::byte* chunk(std::byte* event, std::uint32_t crate, std::uint32_t index) const {
    return event + crate * fragment_bytes_ + index * chunk_bytes_;
  }

private:
  std::size_t chunk_bytes_;
  std::size_t fragment_bytes_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> free_;
};

} // namespace l3
