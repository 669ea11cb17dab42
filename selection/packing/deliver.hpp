// SPDX-License-Identifier: Apache-2.0
// The last kernels of a frame on a device. deliver_events packs events into the output and copies
// their boards from the slots to their places there; deliver_head copies the results. Output and
// results are in mapped host memory: only the device knows the lengths at that moment, so copies
// enqueued by the host would need a second wait; with these kernels the host waits once.
//
// Neighbouring lanes write neighbouring bytes, which cross the PCIe bus as full packets. Few CUDA
// blocks saturate the bus, and more of them delay the copies of other frames to the device: on an
// H200 by 6 % with 32 blocks and by 5 % with 8. Meanwhile the other multiprocessors compute other
// frames.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/packing/frame_columns.hpp"
#include "selection/packing/pack.hpp"
#include "selection/packing/pack_events.hpp"

namespace l3 {

/// Calls f(p, n) for each contiguous run of a board's packed data: n bytes are at p. A raw board's
/// data are its packet.
template <class F>
L3_FN void for_each_packed_run(const batch_view& in, const frame_columns& columns, std::uint32_t i,
                               F&& f) {
  const std::uint32_t form = columns.boards.form[i];
  const std::uint32_t bytes = columns.boards.bytes[i];
  if ((form & board_raw) != 0) {
    const board_entry board = in.boards[i];
    for_each_run(in, in.fragments[board.fragment], board.offset, bytes,
                 [&](const std::byte* p, std::uint32_t, std::uint32_t n) { f(p, n); });
    return;
  }
  if ((form & board_strong) == 0)
    return f(static_cast<const std::byte*>(columns.packed(i, form)), bytes);
  const std::byte* const slot = columns.slot(i);
  const std::uint32_t stored = stored_words_bytes(form);
  f(slot, stored);
  f(slot + board_slot_bytes - (bytes - stored), bytes - stored);
}

/// Completes kept events. The blocks take one event after the other, then one fragment after the
/// other.
struct deliver_events {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t blocks_of_device = 8;

  struct shared {};

  template <class Queue>
  [[nodiscard]] static std::uint32_t blocks(const batch_view& in) {
    return Queue::memory::has_device ? blocks_of_device : in.events.size();
  }

  /// `blocks`: the number of blocks that run.
  template <block B>
  L3_FN void operator()(const B& b, shared&, const batch_view& in, const frame_columns& columns,
                        const output_view& out, std::uint32_t blocks) const {
    for (std::uint32_t e = b.index(); e < in.events.size(); e += blocks)
      pack_events::pack(b, e, in, columns, out);
    for (std::uint32_t k = b.index(); k < in.fragments.size(); k += blocks) {
      const fragment_entry fragment = in.fragments[k];
      if (fragment.boards == 0) continue;
      const std::uint32_t event = in.boards[fragment.first_board].event;
      if (columns.events.accepted[event] == 0) continue;
      std::byte* to = out.bytes + out.starts[event] + columns.fragments.at[k];
      for (std::uint32_t j = 0; j < fragment.boards; ++j) {
        for_each_packed_run(in, columns, fragment.first_board + j,
                            [&](const std::byte* from, std::uint32_t n) {
                              copy_out(b, from, to, n);
                              to += n;
                            });
      }
    }
  }
};

/// Copies `bytes` from one address to another. All three are multiples of 16.
struct deliver_head {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t blocks = 8;

  struct shared {};

  template <block B>
  L3_FN void operator()(const B& b, shared&, const std::byte* from, std::byte* to,
                        std::uint64_t bytes) const {
    const std::uint64_t chunks = bytes / sizeof(chunk);
    const std::uint64_t first = chunks * b.index() / blocks;
    const std::uint64_t end = chunks * (b.index() + 1) / blocks;
    const std::byte* const source = aligned<sizeof(chunk)>(from + first * sizeof(chunk));
    std::byte* const target = aligned<sizeof(chunk)>(to + first * sizeof(chunk));
    for_each(b, static_cast<std::uint32_t>(end - first), [&](std::uint32_t i) {
      store(target + i * sizeof(chunk), load<chunk>(source + i * sizeof(chunk)));
    });
  }

private:
  struct alignas(16) chunk {
    std::uint64_t low;
    std::uint64_t high;
  };
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/packing/deliver.cuh" // included here so that no device source can leave it out
#endif
