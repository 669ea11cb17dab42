// SPDX-License-Identifier: Apache-2.0
// Counts of executed operations, where they exist: the simulated device of tests/device counts, a
// real one does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l3::bench {

/// One kernel, over all its launches since the last counts were taken.
struct device_count {
  std::string kernel; ///< measure_boards
  std::uint64_t warp_instructions = 0;
  std::uint64_t lane_instructions = 0;
  std::uint64_t global_requests = 0;
  std::uint64_t global_sectors = 0; ///< of 32 bytes
  std::uint64_t shared_requests = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_wavefronts_least = 0; ///< without bank conflicts
  std::uint64_t barriers = 0;                ///< per warp
};

/// The counts by kernel name; resets all counts. Defined by the simulated device; null in programs
/// that are linked with the CUDA runtime.
[[gnu::weak]] std::vector<device_count> take_device_counts();

} // namespace l3::bench
