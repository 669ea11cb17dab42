// SPDX-License-Identifier: Apache-2.0
// Where the bodies of event records land: straight in the memory of the current batch. If that
// batch closes while a record is half read, and does not get the rest in time, the half moves to
// the connection's own memory, so that a stalled peer never holds a frame. This memory takes none
// before it is used, and goes back to the system with the connection. Guarded by the event
// builder's lock, except the bytes of the body, and what is found in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/building/landing.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/system/mapped_memory.hpp"

namespace l3 {

class stream_landing {
public:
  /// `max_body`: the longest body that it must hold.
  explicit stream_landing(std::size_t max_body) : own_(max_body) {}

private:
  friend class event_builder;

  batch_in_use* at_ =
      nullptr; // the batch in which it has room; nullptr: none, or the record is in own_
  piece_offset offset_ = 0;
  std::size_t room_ = 0;
  std::size_t body_ = 0; // length of the record's body
  std::size_t filled_ = 0;
  bool inside_ = false; // a thread uses the body without the lock
  mapped_memory own_;
  event_view view_;
  std::optional<std::uint32_t> spill_; // begun and not ended
  std::uint64_t id_ = 0;               // unique to the connection
  std::uint64_t hello_ = 0;            // sequence number of its hello
};

} // namespace l3
