// SPDX-License-Identifier: Apache-2.0
// What copying costs on a device: over the link in each direction, in both at once, while packed
// events leave by mapped memory, and within the device. These are the limits that the other figures
// of a device stand beside, and they decide by which way packed events should leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measure.hpp"

namespace l3::bench {

struct copy_row {
  std::string name;
  std::uint64_t bytes = 0; ///< that count, in each of the seconds
  timing time;
};

/// On the CUDA device.
[[nodiscard]] std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds);

} // namespace l3::bench
