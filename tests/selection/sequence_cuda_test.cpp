// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/sequence_cases.hpp"

#include "selection/make_engine.hpp"
#include "tests/gpu/device.hpp"
#include "tests/selection/cuda_engines.hpp"

namespace l3::test {
namespace {

tested_engine on_cuda(const std::string& name, output_path path) {
  tested_engine e;
  e.name = name;
  e.keeping_all = make_cuda_engine;
  e.keeping_odd = make_cuda_engine_keeping_odd;
  e.why_not = [] { return why_no_device_here(why_no_cuda()); };
  e.leave_by(path);
  return e;
}

INSTANTIATE_TEST_SUITE_P(cuda, sequence,
                         testing::Values(on_cuda("mapped", output_path::mapped),
                                         on_cuda("copied", output_path::copied)),
                         [](const auto& tested) { return tested.param.name; });

} // namespace
} // namespace l3::test
