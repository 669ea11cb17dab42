// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/measure_pulses_cases.hpp"

#include "gpu/queues/pool.hpp"
#include "gpu/queues/serial.hpp"
#include "gpu/queues/shuffled.hpp"
#include "gpu/queues/threaded.hpp"

namespace l3::test {
namespace {

template <std::uint32_t width>
struct serial {
  static constexpr bool slow = false;
  static serial_queue make() { return serial_queue(width); }
};
template <std::uint32_t width>
struct shuffled {
  static constexpr bool slow = false;
  static shuffled_queue make() { return shuffled_queue(width, 42); }
};
template <std::uint32_t width>
struct threaded {
  static constexpr bool slow = true;
  static threaded_queue make() { return threaded_queue(width); }
};
template <std::uint32_t threads>
struct pool {
  static constexpr bool slow = false;
  static pool_queue make() {
    static thread_pool pool(threads);
    return pool_queue(pool);
  }
};

using all = testing::Types<serial<1>, serial<128>, shuffled<32>, threaded<4>, pool<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, measuring_pulses, all);

} // namespace
} // namespace l3::test
