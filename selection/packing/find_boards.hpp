// SPDX-License-Identifier: Apache-2.0
// find_boards: runs before all other kernels. One block per event accepts the event, which a kernel
// may later reject, and writes the event and the fragment of each of its boards. On CUDA devices,
// where one warp decodes a board and would wait for each load on the way to its packet, each thread
// also finds the packet of a board (gpu/decode/found_packet.hpp). Other executors stage a packet
// with a whole block and do not need this.
#pragma once

#include <cstdint>

#include "gpu/executors/block.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/stage.hpp"

namespace l3 {

struct find_boards {
  static constexpr std::uint32_t width = 256;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out,
                        bool with_packets) const {
    const event_entry event = in.events[b.index()];
    for_each(b, 1, [&](std::uint32_t) { out.events.accepted[b.index()] = 1; });
    constexpr std::uint32_t most = l2::max_boards;
    for_each(b, event.fragments, most, [&](std::uint32_t k, std::uint32_t j) {
      const board_home home{b.index(), event.first_fragment + k};
      const fragment_entry fragment = in.fragments[home.fragment];
      if (j >= fragment.boards) return;
      const std::uint32_t i = fragment.first_board + j;
      in.homes[i] = home;
      if (with_packets) out.packets[i] = found_packet::of(in, in.boards[i], home);
    });
  }
};

/// Whether kernels of the queue read frame_columns::packets.
template <class Queue>
inline constexpr bool reads_found_packets = false;

/// Enqueues find_boards, before all other kernels.
template <class Queue>
void find_boards_first(Queue& queue, const batch_view& in, const frame_columns& all) {
  stage(queue, "find boards");
  queue.run(find_boards{}, in.events.size(), in, all, reads_found_packets<Queue>);
}

} // namespace l3

#if defined(__CUDACC__)
namespace l3 {
class cuda_queue;
template <>
inline constexpr bool reads_found_packets<cuda_queue> = true;
} // namespace l3
#endif
