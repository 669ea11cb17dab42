// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_device.cuh"

#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "tests/selection/engine/engine_bytes_cases.hpp"

namespace l3::test {
namespace {

std::vector<tested_engine> on_cuda() {
  tested_engine e;
  e.name = "cuda";
  e.keeping_all = [](const engine_limits& limits) { return make_cuda_engine(limits, nullptr); };
  e.keeping_odd = [](const engine_limits& limits) -> std::unique_ptr<engine> {
    return std::make_unique<basic_engine<cuda_queue, packing_plan<keep_odd_numbers>>>(
        "cuda", limits, [] { return cuda_queue(); });
  };
  e.why_not = on_device::why_not;
  return {e};
}

const auto name_of = [](const auto& tested) { return tested.param.name; };

INSTANTIATE_TEST_SUITE_P(cuda, engine_bytes, testing::ValuesIn(on_cuda()), name_of);
INSTANTIATE_TEST_SUITE_P(cuda_strong, engine_bytes, testing::ValuesIn(by_strong_codec(on_cuda())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(cuda_strong, engine_decision,
                         testing::ValuesIn(by_strong_codec(on_cuda())), name_of);
INSTANTIATE_TEST_SUITE_P(cuda, engine_decision, testing::ValuesIn(on_cuda()), name_of);

} // namespace
} // namespace l3::test
