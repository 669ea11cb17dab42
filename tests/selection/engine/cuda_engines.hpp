// SPDX-License-Identifier: Apache-2.0
// An engine for tests that only nvcc can compile.
#pragma once

#include <memory>

#include "selection/engine/engine.hpp"

namespace l3::test {

std::unique_ptr<engine> make_cuda_engine_keeping_odd(const engine_limits& limits);

} // namespace l3::test
