// SPDX-License-Identifier: Apache-2.0
// The kinds of engines, one function for each. Every function has a source of its own, because each
// compiles all kernels: engine_pool.cpp for serial and pool, engine_shuffled.cpp,
// engine_threaded.cpp, engine_cuda.cu or, in a build without the CUDA toolkit,
// engine_without_cuda.cpp, and likewise engine_hip.hip and engine_sycl.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/memory/device.hpp"
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

/// Empty if the device answers; else the reason, for the operator.
[[nodiscard]] std::string why_no_cuda(int device = 0);
/// 0: none, or the driver does not answer.
[[nodiscard]] int cuda_devices();
/// Its PCI address.
[[nodiscard]] std::string cuda_address(int device);
/// Its name and size; 0 if it does not say.
[[nodiscard]] device_size cuda_size(int device);

/// The engine on the device; aborts in a build without CUDA. Call it only if why_no_cuda() is
/// empty.
[[nodiscard]] std::unique_ptr<engine>
make_cuda_engine(const engine_limits& limits, const selection_program* program, int device = 0);

/// The same of AMD's devices: of the first.
[[nodiscard]] std::string why_no_hip();
[[nodiscard]] std::unique_ptr<engine> make_hip_engine(const engine_limits& limits,
                                                      const selection_program* program);

/// The same of the device that SYCL's runtime chooses.
[[nodiscard]] std::string why_no_sycl();
[[nodiscard]] std::unique_ptr<engine> make_sycl_engine(const engine_limits& limits,
                                                       const selection_program* program);

} // namespace l3
