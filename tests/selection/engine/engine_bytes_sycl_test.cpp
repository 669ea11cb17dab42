// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "selection/engine/engine_on.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/engine_bytes_cases.hpp"

#ifdef L3_KERNEL_SOURCE
// The engine of this program, instead of engine_sycl.cpp.
namespace l3 {

std::string why_no_sycl() { return test::why_no_tested_sycl(); }

std::unique_ptr<engine> make_sycl_engine(const engine_limits& limits,
                                         const selection_program* program) {
  return make_engine_on(
      "sycl", limits, [] { return test::tested_sycl_queue(); }, nullptr, program);
}

} // namespace l3
#endif

namespace l3::test {
namespace {

std::vector<tested_engine> on_sycl_device() {
  tested_engine e;
  e.name = "sycl";
  e.keeping_all = [](const engine_limits& limits) { return make_sycl_engine(limits, nullptr); };
  e.keeping_odd = [](const engine_limits& limits) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<tested_sycl_queue, packing_plan<keep_odd_numbers>>>(
        "sycl", limits, [] { return tested_sycl_queue(); });
  };
  e.why_not = [] { return why_no_device_here(why_no_sycl()); };
  return {e};
}

constexpr auto name_of_engine = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(sycl, engine_bytes, testing::ValuesIn(on_sycl_device()), name_of_engine);
INSTANTIATE_TEST_SUITE_P(sycl, engine_decision, testing::ValuesIn(on_sycl_device()),
                         name_of_engine);

} // namespace
} // namespace l3::test
