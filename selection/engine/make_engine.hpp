// SPDX-License-Identifier: Apache-2.0
// The kinds of engines, one function for each. Every function has a source of its own, because each
// compiles all kernels: engine_pool.cpp for serial and pool, engine_shuffled.cpp,
// engine_threaded.cpp, and engine_cuda.cu or, in a build without the CUDA toolkit,
// engine_without_cuda.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "selection/engine/engine.hpp"

namespace l3 {

/// The engine on any executor but cuda; automatic means pool.
[[nodiscard]] std::unique_ptr<engine> make_cpu_engine(const compute_settings& settings,
                                                      const engine_limits& limits,
                                                      const selection_program* program);

/// The pool executor with one thread, which runs all blocks in order.
[[nodiscard]] std::unique_ptr<engine> make_serial_engine(const engine_limits& limits,
                                                         const selection_program* program);
/// `threads` counts the launching thread; 0: one per processor.
[[nodiscard]] std::unique_ptr<engine> make_pool_engine(std::uint32_t threads,
                                                       const engine_limits& limits,
                                                       const selection_program* program);
[[nodiscard]] std::unique_ptr<engine> make_shuffled_engine(const engine_limits& limits,
                                                           const selection_program* program);
[[nodiscard]] std::unique_ptr<engine> make_threaded_engine(const engine_limits& limits,
                                                           const selection_program* program);

/// Empty if a device answers; else the reason, for the operator.
[[nodiscard]] std::string why_no_cuda();

/// The engine on the device; aborts in a build without CUDA. Call it only if why_no_cuda() is
/// empty.
[[nodiscard]] std::unique_ptr<engine> make_cuda_engine(const engine_limits& limits,
                                                       const selection_program* program);

} // namespace l3
