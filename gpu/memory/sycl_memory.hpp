// SPDX-License-Identifier: Apache-2.0
// Device memory and host memory accessible to SYCL kernels: the equivalent of
// gpu/memory/device.hpp. Plain C++; only sycl_memory.cpp and the executor include SYCL.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct sycl_memory {
  static constexpr bool has_device = true;

  /// Host memory, zeroed, accessible to kernels. Throws std::runtime_error if there is too
  /// little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The kernels' address of this byte: the same.
  [[nodiscard]] static std::byte* on_device(std::byte* host) { return host; }
  /// Device memory, zeroed. Throws std::runtime_error if the device has too little.
  [[nodiscard]] static buffer allocate_on_device(std::size_t bytes);
};

namespace sycl_device {

/// Returns an empty string if a device responds; else the reason, for the operator.
[[nodiscard]] std::string why_no_device();

/// The SYCL runtime's name of the device.
[[nodiscard]] std::string name();

} // namespace sycl_device

} // namespace l3
