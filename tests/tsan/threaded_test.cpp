// SPDX-License-Identifier: Apache-2.0
// The cases of the executors and the packing on executors with threads, for
// ThreadSanitizer. Where lanes are threads it watches every access of a kernel to shared memory;
// with the pool it watches the accesses of blocks to common memory.
#include "selection/engine/basic_engine.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/gpu/executors/executor_cases.hpp"
#include "tests/selection/engine/engine_bytes_cases.hpp"

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

template <class Executor>
tested_engine on(std::string name) {
  using queue = decltype(Executor::make());
  tested_engine e;
  e.name = std::move(name);
  e.keeping_all = [](const engine_limits& limits) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<queue, packing_plan<keep_all>>>("threads", limits,
                                                                         Executor::make);
  };
  e.keeping_odd = [](const engine_limits& limits) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<queue, packing_plan<keep_odd_numbers>>>("threads", limits,
                                                                                 Executor::make);
  };
  e.slow = true;
  return e;
}

std::vector<tested_engine> on_threads() {
  return {on<on_threaded<3>>("threaded_3"), on<on_threaded<4>>("threaded_4"), on<pool>("pool_3")};
}
const auto name_of = [](const auto& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(threads, engine_bytes, testing::ValuesIn(on_threads()), name_of);
INSTANTIATE_TEST_SUITE_P(threads, engine_decision, testing::ValuesIn(on_threads()), name_of);

} // namespace
} // namespace l3::test
