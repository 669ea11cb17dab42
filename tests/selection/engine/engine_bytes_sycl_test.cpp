// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/engine_bytes_cases.hpp"

namespace l3::test {
namespace {

std::vector<tested_engine> on_sycl_device() {
  tested_engine e;
  e.name = "sycl";
  e.keeping_all = [](const engine_limits& limits) { return make_sycl_engine(limits, nullptr); };
  e.keeping_odd = [](const engine_limits& limits) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<sycl_queue, two_pass_plan<keep_odd_numbers>>>(
        "sycl", limits, [] { return sycl_queue(); });
  };
  e.why_not = [] { return why_no_device_here(why_no_sycl()); };
  return {e};
}

const auto name_of = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(sycl, engine_bytes, testing::ValuesIn(on_sycl_device()), name_of);
INSTANTIATE_TEST_SUITE_P(sycl, engine_decision, testing::ValuesIn(on_sycl_device()), name_of);

} // namespace
} // namespace l3::test
