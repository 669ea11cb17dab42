// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/engine/engine_bytes_cases.hpp"

#include "selection/engine/make_engine.hpp"
#include "tests/gpu/executors/device.hpp"

namespace l3::test {

// Rejecting needs an engine with a decision of the tests, which nobody has compiled for HIP.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(engine_decision);

namespace {

std::vector<tested_engine> on_hip() {
  tested_engine e;
  e.name = "hip";
  e.keeping_all = [](const engine_limits& limits) { return make_hip_engine(limits, nullptr); };
  e.why_not = [] { return why_no_device_here(why_no_hip()); };
  return {e};
}

INSTANTIATE_TEST_SUITE_P(hip, engine_bytes, testing::ValuesIn(on_hip()),
                         [](const auto& tested) { return tested.param.name; });

} // namespace
} // namespace l3::test
