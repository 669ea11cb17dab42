// SPDX-License-Identifier: Apache-2.0
// deliver: the last kernel of a frame on a device. It writes what the kernels before it made into
// mapped host memory: the summary, the results, and of the output as many bytes as there are, which
// only the device knows at that moment. So the host needs to be told no size before it can ask for
// the bytes: one wait, and all of it is there.
//
// Lanes that are neighbours write neighbouring 16 bytes, which cross the link as full packets; the
// pack kernels, with their bytes at odd places, work in device memory. Few blocks saturate a link,
// and while they wait for it all other multiprocessors compute on other frames.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"

namespace l3 {

/// What the host is told of a frame as a whole.
struct frame_summary {
  std::uint64_t output_bytes = 0; ///< of all packed events together
};

/// What the host reads of a frame, in device memory or where it is to arrive.
struct outgoing {
  std::byte* head = nullptr;   ///< summary and results; a multiple of 16 as an address
  std::byte* output = nullptr; ///< likewise
};

struct deliver_output {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t blocks = 32;

  struct shared {};

  /// `head_bytes` is a multiple of 8, as is the length of the output.
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

  /// This block's part of all bytes.
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
