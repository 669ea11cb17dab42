// SPDX-License-Identifier: Apache-2.0
// The cases of the executors and the packing on executors with threads, for
// ThreadSanitizer. Where lanes are threads it watches every access of a kernel to shared memory;
// with the pool it watches the accesses of blocks to common memory.
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/selection/packing/look_back_cases.hpp"
#include "tests/selection/packing/one_pass_plan_cases.hpp"

namespace l3::test {
namespace {

struct pool {
  static constexpr bool slow = true;
  static pool_queue make() {
    static thread_pool threads(3);
    return pool_queue(threads);
  }
};

using with_threads = testing::Types<on_threaded<3>, on_threaded<4>, pool>;
INSTANTIATE_TYPED_TEST_SUITE_P(threads, executors, with_threads);

INSTANTIATE_TYPED_TEST_SUITE_P(threads, both_forms, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, looking_back, with_threads);

} // namespace
} // namespace l3::test
