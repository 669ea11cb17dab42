// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/judge_vetoes_cases.hpp"

#include "gpu/queues/pool.hpp"
#include "gpu/queues/serial.hpp"
#include "gpu/queues/shuffled.hpp"
#include "gpu/queues/threaded.hpp"

namespace l3::test {
namespace {

template <std::uint32_t width>
struct serial {
  static constexpr bool slow = false;
  static constexpr bool many = width == 1;
  static serial_queue make() { return serial_queue(width); }
};
struct shuffled {
  static constexpr bool slow = false;
  static constexpr bool many = false;
  static shuffled_queue make() { return shuffled_queue(32, 42); }
};
template <std::uint32_t width>
struct threaded {
  static constexpr bool slow = true;
  static constexpr bool many = false;
  static threaded_queue make() { return threaded_queue(width); }
};
struct pool {
  static constexpr bool slow = false;
  static constexpr bool many = false;
  static pool_queue make() {
    static thread_pool threads(3);
    return pool_queue(threads);
  }
};

using all = testing::Types<serial<1>, serial<128>, shuffled, threaded<3>, pool>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, judging, all);

} // namespace
} // namespace l3::test
