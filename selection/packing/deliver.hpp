// SPDX-License-Identifier: Apache-2.0
// The last kernel of a frame on a device. deliver_events copies the results, packs events into the
// output and copies their boards from the slots to their places there. Output and results are in
// mapped host memory: only the device knows the lengths at that moment, so copies enqueued by the
// host would need a second wait; with this kernel the host waits once.
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

/// Copies the head of the output and completes kept events. The blocks take one event after the
/// other, then one fragment after the other.
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
    copy_head(b, out, blocks);
    for (std::uint32_t e = b.index(); e < in.events.size(); e += blocks)
      pack_events::pack(b, e, in, columns, out);
    for (std::uint32_t k = b.index(); k < in.fragments.size(); k += blocks) {
      std::byte* to = place_of(k, in, columns, out);
      if (to == nullptr) continue;
      const fragment_entry fragment = in.fragments[k];
      for (std::uint32_t j = 0; j < fragment.boards; ++j)
        to += copy_board(b, fragment.first_board + j, in, columns, to);
    }
  }

  template <block B>
  L3_FN static void copy_head(const B& b, const output_view& out, std::uint32_t blocks) {
    const auto chunks = static_cast<std::uint32_t>(out.head_bytes / sizeof(chunk));
    const std::uint32_t first = chunks * b.index() / blocks;
    const std::uint32_t end = chunks * (b.index() + 1) / blocks;
    const std::byte* const source = aligned<sizeof(chunk)>(out.head + first * sizeof(chunk));
    std::byte* const target = aligned<sizeof(chunk)>(out.head_there + first * sizeof(chunk));
    for_each(b, end - first, [&](std::uint32_t i) {
      store(target + i * sizeof(chunk), load<chunk>(source + i * sizeof(chunk)));
    });
  }

  /// Where the boards of fragment k go. Null if it has no boards or its event is rejected.
  [[nodiscard]] L3_FN static std::byte* place_of(std::uint32_t k, const batch_view& in,
                                                 const frame_columns& columns,
                                                 const output_view& out) {
    const fragment_entry fragment = in.fragments[k];
    if (fragment.boards == 0) return nullptr;
    const std::uint32_t event = in.homes[fragment.first_board].event;
    if (columns.events.accepted[event] == 0) return nullptr;
    return out.bytes + out.starts[event] + columns.fragments.at[k];
  }

  /// Copies the packed data of board i and returns their length. A raw board's data are its packet.
  template <block B>
  L3_FN static std::uint32_t copy_board(const B& b, std::uint32_t i, const batch_view& in,
                                        const frame_columns& columns, std::byte* to) {
    const std::uint32_t form = columns.boards.form[i];
    const std::uint32_t bytes = columns.boards.bytes[i];
    if ((form & board_raw) != 0) {
      copy_range(b, in, in.fragment_of(i), in.boards[i].offset, bytes, to);
      return bytes;
    }
    const std::uint32_t apart = words_apart(form);
    if (apart != 0) copy_out(b, columns.slot(i), to, apart);
    copy_out(b, columns.slot(i) + start_in_slot(form, bytes), to + apart, bytes - apart);
    return bytes;
  }

  /// Length of the header and footer words that are at the start of the slot, apart from the rest.
  [[nodiscard]] L3_FN static std::uint32_t words_apart(std::uint32_t form) {
    return (form & board_strong) != 0 ? stored_words_bytes(form) : 0;
  }
  /// The offset in its slot of all other packed data of a board that is not raw.
  [[nodiscard]] L3_FN static std::uint32_t start_in_slot(std::uint32_t form, std::uint32_t bytes) {
    return (form & board_strong) != 0 ? board_slot_bytes - (bytes - words_apart(form))
                                      : records_in_slot - bytes_before_records(form);
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
