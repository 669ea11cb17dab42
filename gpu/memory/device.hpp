// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned host memory, and the check whether a device responds. This header is plain
// C++; only device.cu includes the CUDA runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct cuda_memory {
  static constexpr bool has_device = true;

  /// Pinned host memory, zeroed, accessible to kernels of every device. Throws std::runtime_error
  /// if the machine has too little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The kernels' address of this byte of pinned host memory.
  [[nodiscard]] static std::byte* on_device(std::byte* host);
  /// Device memory, zeroed. Throws std::runtime_error if the device has too little.
  [[nodiscard]] static buffer allocate_on_device(std::size_t bytes);
};

struct device_size {
  std::string name;
  std::uint64_t memory = 0; ///< bytes
  std::uint32_t multiprocessors = 0;
};

namespace cuda {

/// Returns an empty string if a device responds and can run this program's kernels; else the
/// reason, for the operator. Selects the device.
[[nodiscard]] std::string why_no_device(int device = 0);

/// Returns 0 if there is none, or the driver does not respond.
[[nodiscard]] int devices();
[[nodiscard]] std::string pci_address(int device);
/// Returns zeros if the size is unknown.
[[nodiscard]] device_size size_of(int device);

/// Selects the device for this thread's allocations, objects and launches. Throws
/// std::runtime_error.
void use(int device);

/// The product name of the selected device: "NVIDIA H200".
[[nodiscard]] std::string device_name();

} // namespace cuda

} // namespace l3
