// SPDX-License-Identifier: Apache-2.0
// Packing of all data within a device's memory: both of our forms, the strong codec, and KOTO's two
// original kernels, compared with a copy within that memory. The data are larger than any cache;
// every output, also the copy's, is poisoned before and compared after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/device/first_kernels.hpp"
#include "bench/device/host_reference.hpp"

namespace l3::bench {

struct device_pack_row {
  std::string name;
  std::uint64_t input_bytes = 0; ///< packed or copied per measured time
  std::uint64_t traffic = 0;     ///< read once and written once
  bool first_kernel = false;     ///< the baseline of the gains
  timing time{};
};

/// The expected outputs, made on the host.
struct device_pack_expected {
  explicit device_pack_expected(const decode_batch& batch);

  [[nodiscard]] std::uint32_t waveforms() const {
    return static_cast<std::uint32_t>(samples.size() / koto::record_samples);
  }

  std::vector<std::byte> packed;      ///< packed events
  std::vector<std::byte> encoded;     ///< the same in the strong codec
  std::vector<std::uint16_t> samples; ///< of all boards
  std::vector<std::byte> slots;       ///< records as in the original kernels, poison between
  std::uint64_t record_bytes = 0;     ///< of the records only
};

/// The same waveforms packed by one core with its best instructions.
[[nodiscard]] device_pack_row pack_on_one_core(const device_pack_expected& expected,
                                               std::uint32_t rounds);

/// The name of the CUDA device.
[[nodiscard]] std::string device_name();

/// The rows of the CUDA device.
[[nodiscard]] std::vector<device_pack_row>
cuda_pack(const decode_batch& batch, const device_pack_expected& expected, std::uint32_t rounds);

} // namespace l3::bench
