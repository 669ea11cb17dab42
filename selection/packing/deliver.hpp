// SPDX-License-Identifier: Apache-2.0
// deliver: the last kernel of a frame on a device. It copies the frame's summary, results and
// packed events to mapped host memory. At that moment only the device knows the length of the
// packed events, so a copy enqueued by the host would need a second wait; with this kernel the host
// waits once.
//
// Neighbouring lanes write neighbouring 16 bytes, which cross the PCIe bus as full packets; the
// pack kernels, which write bytes at odd addresses, work in device memory. Few CUDA blocks saturate
// the bus, and more of them delay the copies of other frames to the device: on an H200 by 6 % with
// 32 blocks and by 5 % with 8. Meanwhile the other multiprocessors compute other frames.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"

namespace l3 {

/// The result of a whole frame.
struct frame_summary {
  std::uint64_t output_bytes = 0; ///< total length of all packed events
};

/// The memory that the host reads after a frame: its source on the device, or its target.
struct outgoing {
  std::byte* head = nullptr;   ///< summary and results; the address is a multiple of 16
  std::byte* output = nullptr; ///< likewise
};

struct deliver_output {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t blocks = 8;

  struct shared {};

  /// `head_bytes` and the length of the output are multiples of 8.
  template <block B>
  L3_FN void operator()(const B& b, shared&, outgoing from, const frame_summary* summary,
                        outgoing to, std::uint64_t head_bytes) const {
    copy_share(b, from.head, to.head, head_bytes);
    copy_share(b, from.output, to.output, summary->output_bytes);
  }

private:
  struct alignas(16) chunk {
    std::uint64_t low;
    std::uint64_t high;
  };
  static constexpr std::uint32_t chunks_per_turn = 4 * width;

  /// Copies this block's part of the bytes.
  template <block B>
  L3_FN static void copy_share(const B& b, const std::byte* from, std::byte* to,
                               std::uint64_t bytes) {
    const std::uint64_t chunks = bytes / sizeof(chunk);
    for (std::uint64_t first = std::uint64_t{b.index()} * chunks_per_turn; first < chunks;
         first += std::uint64_t{blocks} * chunks_per_turn) {
      const std::uint64_t left = chunks - first;
      const auto n = static_cast<std::uint32_t>(left < chunks_per_turn ? left : chunks_per_turn);
      const std::byte* const source = aligned<sizeof(chunk)>(from + first * sizeof(chunk));
      std::byte* const target = aligned<sizeof(chunk)>(to + first * sizeof(chunk));
      for_each(b, n, [&](std::uint32_t i) {
        store(target + i * sizeof(chunk), load<chunk>(source + i * sizeof(chunk)));
      });
    }
    if (b.index() == 0 && bytes % sizeof(chunk) != 0) {
      constexpr std::size_t tail = sizeof(std::uint64_t);
      const std::byte* const source = aligned<tail>(from + chunks * sizeof(chunk));
      std::byte* const target = aligned<tail>(to + chunks * sizeof(chunk));
      for_each(b, 1, [&](std::uint32_t) { store(target, load<std::uint64_t>(source)); });
    }
  }
};

} // namespace l3
