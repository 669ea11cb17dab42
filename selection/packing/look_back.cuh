// SPDX-License-Identifier: Apache-2.0
// The device form of find_end (look_back.hpp). A warp loads the words of 128 tiles at a time and
// processes them by 32, starting at the nearest: votes find the nearest tile that has published its
// end, and whether all tiles up to it have published. Sums over the warp then give the bytes
// between two tiles that begin events. Other warps wait at a barrier, where they take no issue
// slots.
#pragma once

#include <cstdint>

namespace l3 {

/// The published words of 32 tiles, one per lane of a warp, the nearest in lane 0.
class tiles_seen {
public:
  __device__ explicit tiles_seen(std::uint64_t word)
      : mine_(word), low_(static_cast<std::uint32_t>(word)),
        ends_(__ballot_sync(everyone, position_word(low_).is_absolute())) {}

  /// Whether one of them has published its end.
  [[nodiscard]] __device__ bool has_end() const { return ends_ != 0; }
  /// Whether all have published something, up to the nearest one with an end.
  [[nodiscard]] __device__ bool is_known() const {
    return (__ballot_sync(everyone, !position_word(low_).is_known()) & (ends_ ^ (ends_ - 1))) == 0;
  }
  /// The nearest end.
  [[nodiscard]] __device__ std::uint64_t end() const {
    return __shfl_sync(everyone, mine_.bytes(), __ffs(static_cast<int>(ends_)) - 1);
  }
  /// Joins the step over the tiles nearer than that, or over all of them, with the one over tiles
  /// behind them.
  __device__ void join(position_step& behind) const {
    std::uint32_t left = ends_ == 0 ? everyone : (ends_ & (0 - ends_)) - 1;
    const auto bytes = static_cast<std::uint32_t>(mine_.bytes()); // for a tile, not for an end
    std::uint32_t firsts = __ballot_sync(everyone, position_word(low_).is_first()) & left;
    while (firsts != 0) { // starting at the nearest
      const std::uint32_t nearer_too = firsts ^ (firsts - 1);
      behind = position_step(0, sum(bytes, left & nearer_too), true).then(behind);
      left &= ~nearer_too;
      firsts &= ~nearer_too;
    }
    behind = position_step(sum(bytes, left), 0, false).then(behind);
  }

private:
  static constexpr std::uint32_t everyone = 0xffffffff;

  [[nodiscard]] __device__ static std::uint32_t sum(std::uint32_t bytes, std::uint32_t lanes) {
    return __reduce_add_sync(everyone, (lanes >> threadIdx.x % 32 & 1) != 0 ? bytes : 0);
  }

  position_word mine_;
  std::uint32_t low_; ///< everything except the number of bytes
  std::uint32_t ends_;
};

/// Finds the end of the data of a tile that has published `mine`, like find_end, with one warp.
[[nodiscard]] __device__ inline std::uint64_t find_end_by_warp(const cuda_block& b, std::uint32_t t,
                                                               position_word mine,
                                                               column<std::uint64_t> positions) {
  constexpr std::uint32_t warp = 32;
  constexpr std::uint32_t rows = 4;
  const std::uint32_t lane = threadIdx.x % warp;
  position_step all(mine);
  std::uint64_t begin = 0; // where the nearest tile with an end has it
  bool is_found = t == 0;
  for (std::uint32_t from = t; !is_found;) { // from − 1 is the nearest unread tile
    std::uint64_t words[rows];
#pragma unroll
    for (std::uint32_t k = 0; k < rows; ++k) {
      const std::uint32_t back = warp * k + lane + 1;
      words[k] = back <= from ? observe(b, &positions[from - back]) : position_word::at(0).word();
    }
#pragma unroll 1
    for (std::uint32_t k = 0; k < rows; ++k) {
      const tiles_seen seen(words[0]);
#pragma unroll
      for (std::uint32_t m = 1; m < rows; ++m) words[m - 1] = words[m];
      if (!seen.is_known()) {
        give_way(b);
        break;
      }
      seen.join(all);
      from -= warp;
      is_found = seen.has_end();
      if (!is_found) continue;
      begin = seen.end();
      break;
    }
  }
  const std::uint64_t end = all.end(begin);
  if (lane == 0) publish(b, &positions[t], position_word::at(end).word());
  return end;
}

[[nodiscard]] __device__ inline std::uint64_t find_end(const cuda_block& b, look_back::shared& s,
                                                       std::uint32_t t, position_word mine,
                                                       column<std::uint64_t> positions) {
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) publish(b, &positions[t], mine.word());
    const std::uint64_t end = find_end_by_warp(b, t, mine, positions);
    if (threadIdx.x == 0) s.end = end;
  }
  b.sync();
  return s.end;
}

} // namespace l3
