// SPDX-License-Identifier: Apache-2.0
// Where the bodies of event records land: directly in the memory of the current batch. If that
// batch closes and the rest of a half-read record does not come in time, the half moves to the
// connection's own memory, so that a stalled peer never holds a frame. That memory is allocated on
// first use and freed with the connection. Only the owner of the event builder reads or changes a
// landing, except the body and the results of reading it while the connection is inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/building/admission.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/system/mapped_memory.hpp"

namespace l3 {

class stream_landing {
public:
  /// `max_body`: the longest possible body.
  explicit stream_landing(std::size_t max_body) : own_(max_body) {}

private:
  friend class event_builder;

  /// Whether the owner may move the body.
  [[nodiscard]] bool may_move() const {
    return at_ != nullptr && !inside_.load(std::memory_order_acquire);
  }

  batch_in_use* at_ = nullptr; // the batch with its room; nullptr: none, or the record is in own_
  piece_offset offset_ = 0;
  std::size_t room_ = 0;
  std::size_t body_ = 0;             // length of the record's body
  std::size_t filled_ = 0;           // written inside
  std::atomic<bool> inside_ = false; // the connection uses the body; set only by the owner
  mapped_memory own_;
  event_view view_;
  std::optional<candidate_event> candidate_;
  std::optional<std::uint32_t> spill_; // begun and not ended
  std::uint64_t id_ = 0;               // unique to the connection
  std::uint64_t hello_ = 0;            // sequence number of its hello
};

} // namespace l3
