// SPDX-License-Identifier: Apache-2.0
// The device as an executor for suites of cases (cpu_executors.hpp has the others). Its cases are
// skipped on a machine without a device. Tests include this header first, because device forms of
// functions call members of cuda_block.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/executors/cuda.cuh"
#include "tests/gpu/executors/device.hpp"

namespace l3::test {

struct on_device {
  static constexpr bool slow = true; ///< without a device, where its code is interpreted
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 1000;
  static std::string why_not() { return why_no_device_here(cuda::why_no_device()); }
  static cuda_queue make() { return {}; }
};

} // namespace l3::test
