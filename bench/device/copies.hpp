// SPDX-License-Identifier: Apache-2.0
// The cost of copies on a device: over the link in each direction, in both at once, with packed
// events leaving by mapped memory, and within the device. These are the limits for the device's
// other results, and decide how packed events should leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace l3::bench {

struct copy_row {
  std::string name;
  std::uint64_t bytes = 0; ///< counted bytes per measured time
  timing time;
};

/// On the CUDA device.
[[nodiscard]] std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds);

} // namespace l3::bench
