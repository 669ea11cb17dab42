// SPDX-License-Identifier: Apache-2.0
// SYCL's device as an executor for suites of cases (cpu_executors.hpp has the others). Its cases
// are skipped where SYCL finds no device.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/executors/sycl.hpp"
#include "tests/gpu/executors/device.hpp"
#ifdef L3_KERNEL_SOURCE
#include "tests/gpu/executors/sycl_at_run_time.hpp"
#endif

namespace l3::test {

#ifdef L3_KERNEL_SOURCE
using tested_sycl_queue = queue_at_run_time;
inline constexpr bool sycl_is_slow = false;
inline std::string why_no_tested_sycl() { return {}; } // without a device all cases fail
#else
using tested_sycl_queue = sycl_queue;
inline constexpr bool sycl_is_slow = true; // where AdaptiveCpp's library makes a fiber of each lane
inline std::string why_no_tested_sycl() { return sycl_device::why_no_device(); }
#endif

struct on_sycl {
  static constexpr bool slow = sycl_is_slow;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 1000;
  static std::string why_not() { return why_no_device_here(why_no_tested_sycl()); }
  static tested_sycl_queue make() { return {}; }
};

} // namespace l3::test
