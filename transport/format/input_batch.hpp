// SPDX-License-Identifier: Apache-2.0
// A batch of events being received: memory, pinned where there is a GPU, that a frame lends to the
// receivers, and the tables that say what lies in it. The receivers fill it, the kernels read it;
// neither knows the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/format/batch.hpp"

namespace l3 {

struct input_batch {
  /// Rises by 1 with every batch taken; batches are computed and sent in this order.
  std::uint64_t serial = 0;

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

} // namespace l3
