// SPDX-License-Identifier: Apache-2.0
// The device form of find_end (look_back.hpp). A warp looks back 32 tiles at a time: votes find the
// nearest tile that has published its end, and whether all tiles up to it have published. Then the
// lanes join the steps over these tiles to one step, in five rounds of exchanges. Other warps wait
// at a barrier, where they take no issue slots.
#pragma once

#include <cstdint>

namespace l3 {

__device__ inline position_step step_of_lane_above(const position_step& s, std::uint32_t distance) {
  constexpr std::uint32_t all = 0xffffffff;
  return {__shfl_down_sync(all, s.before(), distance), __shfl_down_sync(all, s.after(), distance),
          __shfl_down_sync(all, s.rounds() ? 1 : 0, distance) != 0};
}

/// Publishes `mine` and finds where the tile's data ends, like find_end, by one warp. Only the
/// first lane gets the end.
[[nodiscard]] __device__ inline std::uint64_t find_end_by_warp(const cuda_block& b, std::uint32_t t,
                                                               position_word mine,
                                                               column<std::uint64_t> positions) {
  constexpr std::uint32_t warp = 32;
  constexpr std::uint32_t everyone = 0xffffffff;
  const std::uint32_t lane = threadIdx.x % warp;
  if (lane == 0) publish(b, &positions[t], mine.word());
  position_step all(mine);
  for (std::uint32_t from = t;;) { // from − 1 is the nearest tile not yet read
    const position_word seen =
        lane < from ? position_word(observe(b, &positions[from - 1 - lane])) : position_word::at(0);
    const std::uint32_t absolute = __ballot_sync(everyone, seen.is_absolute());
    const std::uint32_t unknown = __ballot_sync(everyone, !seen.is_known());
    // The lanes up to the nearest tile with a published end; all lanes, if no tile has one.
    const std::uint32_t counted = absolute ^ (absolute - 1);
    if ((unknown & counted) != 0) {
      give_way(b);
      continue;
    }
    position_step step;
    if ((counted >> lane & 1) != 0) step = position_step(seen);
      // The lane above read tiles further ahead of this one, so its step comes first.
#pragma unroll
    for (std::uint32_t distance = 1; distance < warp; distance *= 2) {
      const position_step above = step_of_lane_above(step, distance);
      if (lane + distance < warp) step = above.then(step);
    }
    all = step.then(all); // complete in lane 0 only
    if (absolute != 0) break;
    from -= warp;
  }
  const std::uint64_t end = all.end(0);
  if (lane == 0) publish(b, &positions[t], position_word::at(end).word());
  return end;
}

[[nodiscard]] __device__ inline std::uint64_t find_end(const cuda_block& b, look_back::shared& s,
                                                       std::uint32_t t, position_word mine,
                                                       column<std::uint64_t> positions) {
  if (threadIdx.x < 32) {
    const std::uint64_t end = find_end_by_warp(b, t, mine, positions);
    if (threadIdx.x == 0) s.end = end;
  }
  b.sync();
  return s.end;
}

} // namespace l3
