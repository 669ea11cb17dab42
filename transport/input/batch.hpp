// SPDX-License-Identifier: Apache-2.0
// A batch of events being received: pinned memory that a frame lends to the receivers, and the
// tables that say what lies in it. Receivers take a batch from the pool, fill it, and submit it;
// where its memory comes from, and what is computed from it, they do not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/batch.hpp"
#include "transport/format/batch_capacity.hpp"

namespace l3 {

struct input_batch {
  std::uint64_t serial =
      0; ///< rises by 1 with every batch taken; batches are computed and sent in this order

  std::span<std::byte> bytes; ///< 4096-aligned
  std::span<event_entry> events;
  std::span<fragment_entry> fragments;
  std::span<piece_offset> pieces;
  std::span<board_entry> boards;

  // How much of each is used.
  std::size_t used_bytes = 0;
  std::uint32_t used_events = 0;
  std::uint32_t used_fragments = 0;
  std::uint32_t used_pieces = 0;
  std::uint32_t used_boards = 0;

  void clear() { used_bytes = used_events = used_fragments = used_pieces = used_boards = 0; }
};

/// The frames, as the receivers see them. Thread-safe. At most one batch is taken and not submitted
/// at a time, but for a moment while the receivers move from one to the next; batches are submitted
/// in the order of their serial numbers.
class batch_pool {
public:
  virtual ~batch_pool() = default;
  /// An empty batch, or nullptr if every frame is busy. Never blocks.
  virtual input_batch* try_take() = 0;
  /// Hands the batch to the compute side. An empty batch is allowed: its serial number counts as
  /// done.
  virtual void submit(input_batch& batch) = 0;
};

} // namespace l3
