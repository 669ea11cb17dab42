// SPDX-License-Identifier: Apache-2.0
// Events being assembled from chunks: which chunks of which fragment have arrived, and where they
// are. A fixed number of records exists from the start, ordered by the start of their events, which
// is also the order of their time limits. Memory is reserved for a limited number of events that
// are incomplete when their batch closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// One cache line.
struct alignas(64) fragment_assembly {
  std::uint64_t have = 0;       ///< bit i: chunk i has arrived
  std::uint64_t in_batch = 0;   ///< bit i: it is in the batch, in a slot or among short ones
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

  [[nodiscard]] bool whole() const {
    return chunks != 0 &&
           have == (chunks == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << chunks) - 1);
  }
  /// Whether the builder waits for no more of its chunks.
  [[nodiscard]] bool ended() const {
    return (whole() && (!early || trailer)) || problem == malformed::chunk_count;
  }
};

/// The place of an event's chunks: in a batch; in the parking area; or nowhere because no frame was
/// free, so the event is only counted.
enum class event_place : std::uint8_t { batch, parking, nowhere };

/// An event is filling until all its fragments have ended. If a chunk may belong to another spill,
/// it is then briefly doubtful. It is ready to end when it has room, or due to end with or without
/// room.
enum class assembly_state : std::uint8_t { filling, doubtful, ready, due };

struct event_assembly {
  spill_table* spill = nullptr;
  std::uint32_t number = 0;
  time_point began_at{};
  assembly_state state = assembly_state::filling;
  time_point doubtful_until{};
  event_place place = event_place::nowhere;
  batch_in_use* batch = nullptr; ///< its batch, if it has one
  std::uint32_t parking_slot = 0;
  std::uint32_t ended = 0; ///< number of ended fragments
  bool verified = false;   ///< a datagram of the event named its spill
  bool overdue = false;    ///< it has waited long, and its missing fragments are counted

  std::span<fragment_assembly> fragments; ///< by crate
  std::span<piece_offset> pieces;         ///< `max_chunks` per fragment; offsets in the batch
  std::span<std::uint16_t> board_slots;   ///< likewise; from the chunks' summaries

  [[nodiscard]] bool all_ended() const { return ended == fragments.size(); }

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t older = none;
  std::uint32_t younger = none;
};

class assembly_pool {
public:
  assembly_pool(std::uint32_t events, std::uint32_t crates, std::uint32_t max_chunks);

  [[nodiscard]] static std::size_t memory_plan(std::uint32_t events, std::uint32_t crates,
                                               std::uint32_t max_chunks) {
    const std::size_t of_a_fragment =
        sizeof(fragment_assembly) + max_chunks * (sizeof(piece_offset) + sizeof(std::uint16_t));
    return std::size_t{events} *
           (crates * of_a_fragment + sizeof(event_assembly) + sizeof(std::uint32_t));
  }
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(events_.size() - free_.size());
  }
  /// Takes a clean record, which becomes the youngest; the pool must not be full.
  std::uint32_t take();
  void give_back(std::uint32_t handle);

  [[nodiscard]] event_assembly& operator[](std::uint32_t handle) { return events_[handle]; }
  [[nodiscard]] const event_assembly& operator[](std::uint32_t handle) const {
    return events_[handle];
  }

  // Iterates from the oldest to the youngest; event_assembly::none after the last.
  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  [[nodiscard]] std::uint32_t younger(std::uint32_t handle) const {
    return events_[handle].younger;
  }

private:
  std::vector<fragment_assembly> fragments_;
  std::vector<piece_offset> pieces_;
  std::vector<std::uint16_t> board_slots_;
  std::vector<event_assembly> events_;
  std::vector<std::uint32_t> free_;
  std::uint32_t oldest_ = event_assembly::none;
  std::uint32_t youngest_ = event_assembly::none;
};

/// Memory for events that wait outside the frames. A parked fragment is contiguous: chunk i is at i
/// × chunk_bytes.
class parking {
public:
  parking(std::uint32_t events, std::uint32_t crates, std::uint32_t chunk_bytes,
          std::uint32_t max_chunks)
      : chunk_bytes_(chunk_bytes), fragment_bytes_(std::size_t{chunk_bytes} * max_chunks),
        event_bytes_(fragment_bytes_ * crates), memory_(event_bytes_ * events) {
    free_.reserve(events);
    for (std::uint32_t s = events; s > 0; --s) free_.push_back(s - 1);
  }

  [[nodiscard]] std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::uint32_t take() {
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& s) {
    return std::size_t{s.chunk_bytes} * s.max_chunks() * s.crates.size() * s.parked_events;
  }

  [[nodiscard]] std::byte* fragment(std::uint32_t slot, std::uint32_t crate) {
    return memory_.data() + slot * event_bytes_ + crate * fragment_bytes_;
  }
  [[nodiscard]] std::byte* chunk(std::uint32_t slot, std::uint32_t crate, std::uint32_t index) {
    return fragment(slot, crate) + std::size_t{index} * chunk_bytes_;
  }
  void put(std::uint32_t slot, std::uint32_t crate, std::uint32_t index,
           std::span<const std::byte> bytes) {
    std::memcpy(chunk(slot, crate, index), bytes.data(), bytes.size());
  }

private:
  std::size_t chunk_bytes_;
  std::size_t fragment_bytes_;
  std::size_t event_bytes_;
  std::vector<std::byte> memory_;
  std::vector<std::uint32_t> free_;
};

} // namespace l3
