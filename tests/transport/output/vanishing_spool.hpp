// SPDX-License-Identifier: Apache-2.0
// What tests of a spool need whose segments and folder are removed, moved, cut and replaced.
#pragma once

#include <cstdint>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/transport/output/failing_disk.hpp"
#include "tests/transport/output/spool_blocks.hpp"
#include "tests/transport/store/vanishing_files.hpp"
#include "transport/output/spool_backlog.hpp"

namespace l3::test {

namespace fs = std::filesystem;

inline constexpr std::uint64_t block_bytes = 264; ///< of spool_block()
inline constexpr std::uint64_t head_bytes = 16;
inline constexpr std::uint64_t three_blocks = head_bytes + 3 * block_bytes;

/// A folder for a spool that others can reach.
struct spool_scene {
  scratch_folder outside;
  fs::path folder = fs::path(outside.path()) / "spool";

  [[nodiscard]] fs::path segment(std::uint64_t number) const {
    return segment_path(folder, number);
  }
};

inline spool_system without_pauses() {
  spool_system system;
  system.now = hasty_clock;
  return system;
}

inline void append_all(spool& disk, std::uint64_t first, std::uint64_t last,
                       std::uint64_t lane = 1) {
  for (auto i = first; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(lane, i))) << i;
}

} // namespace l3::test
