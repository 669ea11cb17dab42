// SPDX-License-Identifier: Apache-2.0
// The kinds of engines, each compiled in a source of its own: engine_cpu.cpp, and engine_cuda.cu
// or, in a build without the CUDA toolkit, engine_without_cuda.cpp.
#pragma once

#include <memory>
#include <string>

#include "selection/engine/engine.hpp"

namespace l3 {

/// The engine on any executor but cuda; automatic means pool.
[[nodiscard]] std::unique_ptr<engine> make_cpu_engine(const compute_settings& settings,
                                                      const engine_limits& limits,
                                                      const selection_program* program);

/// Empty if a device answers; else the reason, for the operator.
[[nodiscard]] std::string why_no_cuda();

/// The engine on the device; aborts in a build without CUDA. Call it only if why_no_cuda() is
/// empty.
[[nodiscard]] std::unique_ptr<engine> make_cuda_engine(const engine_limits& limits,
                                                       const selection_program* program);

} // namespace l3
