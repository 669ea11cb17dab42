// SPDX-License-Identifier: Apache-2.0
// A batch of events being received: memory of a frame, pinned if there is a GPU, and the tables of
// its contents. Receivers fill it and kernels read it, independently of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/batch.hpp"

namespace l3 {

struct input_batch {
  /// Increases by 1 with every batch taken; batches are computed and sent in this order.
  std::uint64_t serial = 0;

  std::span<std::byte> bytes; ///< 4096-aligned
  std::span<event_entry> events;
  std::span<fragment_entry> fragments;
  std::span<piece_offset> pieces;
  std::span<board_entry> boards;

  // Used parts of the arrays above.
  std::size_t used_bytes = 0;
  std::uint32_t used_events = 0;
  std::uint32_t used_fragments = 0;
  std::uint32_t used_pieces = 0;
  std::uint32_t used_boards = 0;

  void clear() { used_bytes = used_events = used_fragments = used_pieces = used_boards = 0; }
};

} // namespace l3
