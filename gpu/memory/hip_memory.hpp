// SPDX-License-Identifier: Apache-2.0
// Device memory and pinned host memory of AMD's devices: the equivalent of gpu/memory/device.hpp.
// Plain C++; only hip_memory.hip includes the HIP runtime.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct hip_memory {
  static constexpr bool has_device = true;

  /// Pinned host memory, zeroed, accessible to kernels. Throws std::runtime_error if the machine
  /// has too little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The kernels' address of this byte of pinned host memory.
  [[nodiscard]] static std::byte* on_device(std::byte* host);
  /// Device memory, zeroed. Throws std::runtime_error if the device has too little.
  [[nodiscard]] static buffer allocate_on_device(std::size_t bytes);
};

namespace hip {

/// Returns an empty string if a device responds; else the reason, for the operator.
[[nodiscard]] std::string why_no_device();

/// The product name of the device.
[[nodiscard]] std::string device_name();

} // namespace hip

} // namespace l3
