// SPDX-License-Identifier: Apache-2.0
// The CPU executors for suites of cases. Each makes its queue, and states how many cases it can run
// in reasonable time.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "tests/gpu/executors/shuffled.hpp"
#include "tests/gpu/executors/threaded.hpp"

namespace l3::test {

template <std::uint32_t width>
struct on_serial {
  static constexpr bool slow = false;
  static constexpr bool many = width == 1; ///< the fastest executor runs the most cases
  static constexpr std::uint32_t random_events = 20000;
  static serial_queue make() { return serial_queue(width); }
};
template <std::uint32_t width>
struct on_shuffled {
  static constexpr bool slow = false;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 5000;
  static shuffled_queue make() { return shuffled_queue(width, 42); }
};
template <std::uint32_t width>
struct on_threaded {
  static constexpr bool slow = true;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 1000;
  static threaded_queue make() { return threaded_queue(width); }
};
template <std::uint32_t threads>
struct on_pool {
  static constexpr bool slow = false;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 10000;
  static pool_queue make() {
    static thread_pool pool(threads);
    return pool_queue(pool);
  }
};

using cpu_executors =
    testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<3>, on_pool<3>>;

} // namespace l3::test
