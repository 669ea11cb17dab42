// SPDX-License-Identifier: Apache-2.0
// Device memory and host memory that kernels of SYCL can reach: the twin of gpu/memory/device.hpp.
// Plain C++; only sycl_memory.cpp and the executor include SYCL.
#pragma once

#include <cstddef>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct sycl_memory {
  static constexpr bool has_device = true;

  /// Host memory, zeroed, which kernels can reach. Throws std::runtime_error if there is too
  /// little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The address by which kernels reach this byte of it: its own.
  [[nodiscard]] static std::byte* on_device(std::byte* host) { return host; }
  /// Device memory, zeroed. Throws std::runtime_error if the device has too little.
  [[nodiscard]] static buffer allocate_on_device(std::size_t bytes);
};

namespace sycl_device {

/// Empty if a device answers; else the reason, for the operator.
[[nodiscard]] std::string why_no_device();

/// The name that the SYCL runtime gives the device.
[[nodiscard]] std::string name();

} // namespace sycl_device

} // namespace l3
