// SPDX-License-Identifier: Apache-2.0
// find_packets: runs before all decoding kernels on CUDA devices, where one warp decodes a board
// and would wait for each load on the way to its packet. One thread per board finds the packet
// (gpu/decode/found_packet.hpp); other executors stage a packet with a whole block and do not need
// this.
#pragma once

#include <cstdint>

#include "gpu/executors/block.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/stage.hpp"

namespace l3 {

struct find_packets {
  static constexpr std::uint32_t width = 128; // boards per block

  struct shared {};

  [[nodiscard]] static std::uint32_t blocks(const batch_view& in) {
    return (in.boards.size() + width - 1) / width;
  }

  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& out) const {
    const std::uint32_t first = width * b.index();
    const std::uint32_t left = in.boards.size() - first;
    for_each(b, left < width ? left : width, [&](std::uint32_t k) {
      out.packets[first + k] = found_packet::of(in, in.boards[first + k]);
    });
  }
};

/// Whether kernels of the queue read frame_columns::packets.
template <class Queue>
inline constexpr bool reads_found_packets = false;

/// Enqueues find_packets before all other kernels, if they need it.
template <class Queue>
void find_packets_first(Queue& queue, const batch_view& in, const frame_columns& all) {
  if constexpr (reads_found_packets<Queue>) {
    stage(queue, "find packets");
    queue.run(find_packets{}, find_packets::blocks(in), in, all);
  }
}

} // namespace l3

#if defined(__CUDACC__)
namespace l3 {
class cuda_queue;
template <>
inline constexpr bool reads_found_packets<cuda_queue> = true;
} // namespace l3
#endif
