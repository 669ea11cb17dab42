// SPDX-License-Identifier: Apache-2.0
// The cases of all executors on those that have threads, for ThreadSanitizer: with lanes that are
// threads it watches every access of a kernel to shared memory, and with the pool those of blocks
// to what they have in common.
#include "tests/gpu/decode/decode_cases.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/selection/engine/hesitant_queue.hpp"
#include "tests/selection/packing/look_back_cases.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

#include "gpu/executors/pool.hpp"
#include "gpu/executors/threaded.hpp"

namespace l3::test {
namespace {

template <std::uint32_t width>
struct threaded {
  static constexpr bool slow = true;
  static threaded_queue make() { return threaded_queue(width); }
};
struct hesitant {
  static constexpr bool slow = true;
  static auto make() { return hesitant_queue(threaded_queue(3)); }
};
struct pool {
  static constexpr bool slow = true;
  static pool_queue make() {
    static thread_pool threads(3);
    return pool_queue(threads);
  }
};

using with_threads = testing::Types<threaded<3>, threaded<4>, pool>;
INSTANTIATE_TYPED_TEST_SUITE_P(threads, executors, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, decoder, with_threads);

using in_both_forms = testing::Types<threaded<3>, threaded<4>, pool, hesitant>;
INSTANTIATE_TYPED_TEST_SUITE_P(threads, both_forms, in_both_forms);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, looking_back, in_both_forms);

} // namespace
} // namespace l3::test
