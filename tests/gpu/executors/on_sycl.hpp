// SPDX-License-Identifier: Apache-2.0
// SYCL's device as an executor for suites of cases (cpu_executors.hpp has the others). Its cases
// are skipped where SYCL finds no device.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/executors/sycl.hpp"
#include "tests/gpu/executors/device.hpp"

namespace l3::test {

struct on_sycl {
  static constexpr bool slow = true; ///< where AdaptiveCpp's library makes a fiber of each lane
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 1000;
  static std::string why_not() { return why_no_device_here(sycl_device::why_no_device()); }
  static sycl_queue make() { return {}; }
};

} // namespace l3::test
