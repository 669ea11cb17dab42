// SPDX-License-Identifier: Apache-2.0
// The kinds of engines, one function each. Every function has its own source, because each compiles
// all kernels: engine_pool.cpp for serial and pool, engine_cuda.cu or, in a build without the CUDA
// toolkit, engine_without_cuda.cpp, and likewise engine_hip.hip and engine_sycl.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/memory/device.hpp"
#include "selection/engine/engine.hpp"

namespace l3 {

/// The engine for any executor except cuda; automatic means pool.
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

/// Returns an empty string if the device responds; else the reason, for the operator.
[[nodiscard]] std::string why_no_cuda(int device = 0);
/// Returns 0 if there is none, or the driver does not respond.
[[nodiscard]] int cuda_devices();
/// Its PCI address.
[[nodiscard]] std::string cuda_address(int device);
/// Its name and size; 0 if unknown.
[[nodiscard]] device_size cuda_size(int device);

/// The engine on the device; aborts in a build without CUDA. Call it only if why_no_cuda() returns
/// an empty string.
[[nodiscard]] std::unique_ptr<engine>
make_cuda_engine(const engine_limits& limits, const selection_program* program, int device = 0);

/// Likewise for AMD's devices; uses the first one.
[[nodiscard]] std::string why_no_hip();
[[nodiscard]] std::unique_ptr<engine> make_hip_engine(const engine_limits& limits,
                                                      const selection_program* program);

/// Likewise for the device that SYCL's runtime chooses.
[[nodiscard]] std::string why_no_sycl();
[[nodiscard]] std::unique_ptr<engine> make_sycl_engine(const engine_limits& limits,
                                                       const selection_program* program);

} // namespace l3
