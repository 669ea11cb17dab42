// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned host memory, and the check whether a device answers. This header is plain
// C++; only device.cu includes the CUDA runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/memory/buffer.hpp"

namespace l3 {

struct cuda_memory {
  static constexpr bool has_device = true;

  /// Pinned host memory, zeroed, which kernels of every device can reach. Throws std::runtime_error
  /// if the machine has too little.
  [[nodiscard]] static buffer allocate(std::size_t bytes);
  /// The address by which kernels reach this byte of pinned host memory.
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

/// Empty if a device answers and can run this program's kernels; else the reason, for the operator.
/// Afterwards it is the one in use.
[[nodiscard]] std::string why_no_device(int device = 0);

/// 0: none, or the driver does not answer.
[[nodiscard]] int devices();
[[nodiscard]] std::string pci_address(int device);
/// Zeros if it does not say.
[[nodiscard]] device_size size_of(int device);

/// What this thread allocates, makes and launches from now on is on this device. Throws
/// std::runtime_error.
void use(int device);

/// The name that the maker gave the device in use: "NVIDIA H200".
[[nodiscard]] std::string device_name();

} // namespace cuda

} // namespace l3
