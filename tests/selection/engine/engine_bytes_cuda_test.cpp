// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/engine/engine_bytes_cases.hpp"

#include "selection/engine/make_engine.hpp"
#include "tests/gpu/executors/device.hpp"
#include "tests/selection/engine/cuda_engines.hpp"

namespace l3::test {
namespace {

std::vector<tested_engine> on_cuda() {
  tested_engine e;
  e.name = "cuda";
  e.keeping_all = [](const engine_limits& limits) { return make_cuda_engine(limits, nullptr); };
  e.keeping_odd = make_cuda_engine_keeping_odd;
  e.why_not = [] { return why_no_device_here(why_no_cuda()); };
  return {e};
}

const auto name_of = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(cuda, engine_bytes, testing::ValuesIn(in_both_forms(on_cuda())), name_of);
INSTANTIATE_TEST_SUITE_P(cuda_strong, engine_bytes, testing::ValuesIn(by_strong_codec(on_cuda())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(cuda_strong, engine_decision,
                         testing::ValuesIn(by_strong_codec(on_cuda())), name_of);
INSTANTIATE_TEST_SUITE_P(cuda, engine_decision, testing::ValuesIn(on_cuda()), name_of);

} // namespace
} // namespace l3::test
