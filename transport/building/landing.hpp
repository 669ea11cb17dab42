// SPDX-License-Identifier: Apache-2.0
// Where datagrams land. The memory of a batch is dealt out in slots of one chunk each; a receive
// thread holds a strip of them (landing_strip.hpp) and hands their addresses to recvmmsg. A slot
// whose datagram is kept becomes a piece of a fragment in place; a slot whose datagram was a
// trailer, garbage or a duplicate takes the next one. Short last chunks share slots, into which
// they are copied. Guarded by the event builder's lock, except the bytes of the slots in a strip.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/format/input_batch.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// The memory of one batch, dealt out.
class landing_area {
public:
  explicit landing_area(std::uint32_t chunk_bytes)
      : slot_bytes_(static_cast<std::uint32_t>(round_up(chunk_bytes, cache_line))) {}

  void open(input_batch& batch);

  /// Room for one chunk; nothing if the batch is full.
  [[nodiscard]] std::optional<piece_offset> slot() {
    if (free_.empty()) return region(slot_bytes_);
    const auto offset = free_.back();
    free_.pop_back();
    return offset;
  }
  [[nodiscard]] bool has_slot() const {
    return !free_.empty() || batch_->bytes.size() - batch_->used_bytes >= slot_bytes_;
  }
  void give_back(piece_offset slot) { free_.push_back(slot); }

  /// Room for a short chunk beside others.
  [[nodiscard]] bool is_short(std::uint32_t bytes) const { return bytes <= slot_bytes_ / 4; }
  [[nodiscard]] std::optional<piece_offset> gather(std::uint32_t bytes);

  /// Contiguous room of any size: for parked fragments and event records.
  [[nodiscard]] std::optional<piece_offset> region(std::size_t bytes) {
    const std::size_t room = region_bytes(bytes);
    if (batch_->bytes.size() - batch_->used_bytes < room) return std::nullopt;
    const auto offset = static_cast<piece_offset>(batch_->used_bytes);
    batch_->used_bytes += room;
    return offset;
  }
  /// Bytes that a region of that size takes up.
  [[nodiscard]] static constexpr std::size_t region_bytes(std::size_t bytes) {
    return round_up(bytes, cache_line);
  }

  /// As many as there were at first.
  [[nodiscard]] std::size_t slots() const { return slots_; }

private:
  static constexpr std::size_t cache_line = 64;

  void fetch(std::uint32_t bytes) const;

  std::uint32_t slot_bytes_;
  std::size_t slots_ = 0;
  input_batch* batch_ = nullptr;
  std::vector<piece_offset> free_;
  piece_offset gather_at_ = 0;
  piece_offset gather_end_ = 0;
};

/// A batch while receivers fill it.
struct batch_in_use {
  batch_in_use(input_batch& b, std::uint32_t chunk_bytes) : batch(&b), landing(chunk_bytes) {
    landing.open(b);
  }

  input_batch* batch;
  landing_area landing;
  std::uint32_t reserved = 0; ///< events in it, and events that have room in it
  std::uint32_t open = 0;     ///< events and records that have room in it and have not ended
  std::uint32_t users = 0;    ///< threads that may be writing into it, or reading it, now
  bool closed = false; ///< no event begins in it; submitted when the open ones and users are gone
  time_point waits_until = never; ///< for its open events, once it is closed
  time_point waits_at_most{};     ///< however long their datagrams come
  time_point first_admitted{};    ///< when its oldest event was admitted

  /// A closed batch waits longer for events of which something still comes.
  void wait_from(time_point now) {
    constexpr auto patience = std::chrono::milliseconds(3);
    waits_until = std::min(now + patience, waits_at_most);
  }
  [[nodiscard]] bool is_finished() const { return closed && open == 0 && users == 0; }
  /// No further event can begin in it.
  [[nodiscard]] bool is_full() const { return reserved == batch->events.size(); }
  /// An event of so many bytes, of contiguous room, fits.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    return !is_full() && batch->bytes.size() - batch->used_bytes >= bytes;
  }
};

} // namespace l3
