// SPDX-License-Identifier: Apache-2.0
// The cases of the selection's algorithms on executors with threads, for ThreadSanitizer.
#include "tests/gpu/executors/sort_cases.hpp"
#include "tests/selection/algorithms/compute_quantities_cases.hpp"
#include "tests/selection/algorithms/find_clusters_cases.hpp"
#include "tests/selection/algorithms/judge_vetoes_cases.hpp"
#include "tests/selection/algorithms/match_ends_cases.hpp"
#include "tests/selection/algorithms/measure_pulses_cases.hpp"

#include "gpu/executors/pool.hpp"
#include "tests/gpu/executors/threaded.hpp"

namespace l3::test {
namespace {

struct threaded {
  static constexpr bool slow = true;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 60;
  static threaded_queue make() { return threaded_queue(3); }
};
struct pool {
  static constexpr bool slow = true;
  static constexpr bool many = false;
  static constexpr std::uint32_t random_events = 200;
  static pool_queue make() {
    static thread_pool threads(3);
    return pool_queue(threads);
  }
};

using with_threads = testing::Types<threaded, pool>;
INSTANTIATE_TYPED_TEST_SUITE_P(threads, block_sort, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, measuring_pulses, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, clustering, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, measuring, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, matching, with_threads);
INSTANTIATE_TYPED_TEST_SUITE_P(threads, judging, with_threads);

} // namespace
} // namespace l3::test
