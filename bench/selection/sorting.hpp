// SPDX-License-Identifier: Apache-2.0
// Sorting of key segments: sort_block, with the room of match_ends, compared with library
// functions: std::sort on a core, CUB's segmented sort on a device. All segments have one length
// and random keys; every output is poisoned before and compared after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measure.hpp"
#include "gpu/executors/sort.hpp"
#include "gpu/memory/column.hpp"
#include "selection/algorithms/match_ends.hpp"

namespace l3::bench {

inline constexpr std::uint32_t max_segment = match_ends::max_pulses;

/// One block per segment of n keys.
struct sort_segments {
  static constexpr std::uint32_t width = match_ends::width;
  struct shared {
    sort_space<max_segment> space;
  };
  template <block B>
  L3_FN void operator()(const B& b, shared& s, column<const std::uint64_t> in,
                        column<std::uint64_t> out, std::uint32_t n) const {
    const std::uint32_t first = b.index() * n;
    for_each(b, n, [&](std::uint32_t i) { s.space.keys[i] = in[first + i]; });
    b.sync();
    sort_block(b, s.space, n);
    for_each(b, n, [&](std::uint32_t i) { out[first + i] = s.space.keys[i]; });
  }
};

/// The keys and the expected result.
struct sort_work {
  /// Segments of at most max_segment keys.
  sort_work(std::uint32_t segments, std::uint32_t keys_per_segment);

  std::uint32_t segments;
  std::uint32_t keys_per_segment;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> sorted;
};

/// The same work by us and by a library, taking turns.
struct sort_row {
  std::string where;
  std::uint32_t segments = 0;
  std::uint32_t keys_per_segment = 0;
  std::string library;
  timing ours{};
  timing theirs{};

  [[nodiscard]] double keys() const { return static_cast<double>(segments) * keys_per_segment; }
  [[nodiscard]] bool right() const { return ours.right && theirs.right; }
};

[[nodiscard]] sort_row sort_on_one_core(const sort_work& work, std::uint32_t rounds);

/// On the CUDA device.
[[nodiscard]] sort_row sort_on_device(const sort_work& work, std::uint32_t rounds);

} // namespace l3::bench
