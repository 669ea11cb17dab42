// SPDX-License-Identifier: Apache-2.0
// Runs the decoder with a set of techniques: decode_work makes the list of work on the host, in the
// order of execution, and run_decoder enqueues the kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/decode/decode.hpp"

namespace l3 {

/// The list of work for a batch, whose tables the host can read. With zero suppression the list has
/// no boards that are missing, opaque or not full packets; without, it has 16 entries a fragment.
[[nodiscard]] inline std::vector<std::uint32_t> decode_work(const batch_view& in,
                                                            const decode_techniques& how) {
  struct entry {
    std::uint32_t work;
    bool big;
  };
  std::vector<entry> entries;
  for (std::uint32_t f = 0; f < in.fragments.size(); ++f) {
    const fragment_entry& fragment = in.fragments[f];
    std::uint32_t boards[l2::max_boards];
    std::fill(std::begin(boards), std::end(boards), no_board);
    for (std::uint32_t k = 0; k < fragment.boards; ++k) {
      const std::uint32_t i = fragment.first_board + k;
      const std::uint32_t place = in.boards[i].slot - std::uint32_t{l2::first_slot};
      if (place < l2::max_boards) boards[place] = i;
    }
    for (std::uint32_t place = 0; place < l2::max_boards; ++place) {
      const std::uint32_t i = boards[place];
      const bool empty =
          i == no_board || in.boards[i].opaque != 0 || !is_full_packet(in.boards[i], fragment);
      if (empty && how.zero_suppression) continue;
      entries.push_back({how.table_by_source ? i : l2::max_boards * f + place,
                         !empty && in.boards[i].kind == board_kind::sampling_500_mhz});
    }
  }
  if (how.big_first) {
    std::stable_partition(entries.begin(), entries.end(), [](const entry& e) { return e.big; });
  }
  std::vector<std::uint32_t> work(entries.size());
  std::transform(entries.begin(), entries.end(), work.begin(),
                 [](const entry& e) { return e.work; });
  return work;
}

/// Enqueues the decoding of a batch. `work` is the list of decode_work in memory that kernels can
/// read; `at_once` is how many blocks can run at the same time.
template <decode_techniques how, class Queue>
void run_decoder(Queue& queue, const batch_view& in, column<const std::uint32_t> work,
                 std::uint32_t threshold, const decoded_batch& out, std::uint32_t at_once) {
  constexpr decode_techniques in_kernel{
      how.table_by_source, true, how.warp_aggregation, true, how.short_registers, how.opportunistic,
  }; // the other two techniques act on the list and its order only
  // One core best reads boards that lie side by side, so a block fetches a share of them at a time.
  // There are several shares for each block, so that all blocks end at about the same time.
  constexpr std::uint32_t fetches = 8;
  constexpr std::uint32_t most = 256;
  const std::uint32_t share = std::clamp(work.size() / (at_once * fetches), 1U, most);
  const std::uint32_t blocks = how.opportunistic ? std::min(at_once, work.size()) : work.size();
  queue.run(begin_decoding{}, begin_decoding::blocks(out), out);
  queue.run(decode_boards<in_kernel>{}, blocks, in, work, share, threshold, out);
}

} // namespace l3
