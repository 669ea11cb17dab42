// SPDX-License-Identifier: Apache-2.0
// Device and pinned host memory, and the question whether there is a device. Plain C++: the CUDA
// runtime is behind it.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct cuda_memory {
  static constexpr bool has_device = true;

  /// Pinned host memory, zeroed, which kernels can reach. Throws std::runtime_error if there is not
  /// enough.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The address by which kernels reach this byte of it.
  [[nodiscard]] static std::byte* on_device(std::byte* host);
  /// Device memory, zeroed. Likewise.
  [[nodiscard]] static buffer allocate_on_device(std::size_t bytes);
};

namespace cuda {

/// Empty if a device answers and can run what this program was compiled for; else a text for the
/// operator.
[[nodiscard]] std::string why_no_device();

/// As its maker calls it: "NVIDIA H200".
[[nodiscard]] std::string device_name();

} // namespace cuda

} // namespace l3
