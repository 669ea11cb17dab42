// SPDX-License-Identifier: Apache-2.0
// Packing of everything within the memory of a device: both forms of ours, the strong codec, and
// the two kernels that KOTO began with, beside a copy within that memory. More bytes than any cache
// holds; every output, the copy's too, is poisoned before and compared after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/device/first_kernels.hpp"
#include "bench/device/host_reference.hpp"

namespace l3::bench {

struct device_pack_row {
  std::string name;
  std::uint64_t input_bytes = 0; ///< that were packed or copied in each of the seconds
  std::uint64_t traffic = 0;     ///< read once and written once
  bool first_kernel = false;     ///< that gains are quoted against
  timing time{};
};

/// The right outputs, made on the host.
struct device_pack_expected {
  explicit device_pack_expected(const decode_batch& batch);

  [[nodiscard]] std::uint32_t waveforms() const {
    return static_cast<std::uint32_t>(samples.size() / koto::record_samples);
  }

  std::vector<std::byte> packed;      ///< events
  std::vector<std::byte> encoded;     ///< the same in the strong codec
  std::vector<std::uint16_t> samples; ///< of all boards, decoded
  std::vector<std::byte> slots;       ///< records as the first kernels leave them, poison between
  std::uint64_t record_bytes = 0;     ///< of the records alone
};

/// The same waveforms packed by one core, with the best instructions that it has.
[[nodiscard]] device_pack_row pack_on_one_core(const device_pack_expected& expected,
                                               std::uint32_t rounds);

/// The name of the CUDA device.
[[nodiscard]] std::string device_name();

/// The rows of that device.
[[nodiscard]] std::vector<device_pack_row>
cuda_pack(const decode_batch& batch, const device_pack_expected& expected, std::uint32_t rounds);

} // namespace l3::bench
