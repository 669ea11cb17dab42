// SPDX-License-Identifier: Apache-2.0
// The findings of `koto-l3-bench device`: as a report, and as a plot of time against size from one
// event to all that was asked for. Each rate stands beside that of the copy in the same run, each
// time beside those of the kernels that KOTO began with, for the same events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/device/device_pack.hpp"
#include "bench/harness/report.hpp"

namespace l3::bench {

/// The findings for one batch.
struct device_report {
  std::string device;
  std::uint32_t events = 0;
  std::uint64_t input_bytes = 0;     ///< of fragments
  double ratio = 0;                  ///< of compression
  std::vector<device_pack_row> rows; ///< the first is the copy

  [[nodiscard]] bool all_right() const;
};

/// Packs a batch on a device, as cuda_pack does.
using device_packer =
    std::function<std::vector<device_pack_row>(const decode_batch&, const device_pack_expected&)>;

/// The device's rows, and then one CPU core's; `device` is left empty.
[[nodiscard]] device_report measure_device(std::uint32_t events, std::uint32_t rounds,
                                           const device_packer& pack);

/// From one event to one step below that many.
[[nodiscard]] std::vector<std::uint32_t> sizes_below(std::uint32_t events);

[[nodiscard]] boost::json::object to_json(const device_report& r);

/// From one or more reports with the same rows; the title names the device of the last.
[[nodiscard]] plot to_plot(const std::vector<device_report>& by_size);

} // namespace l3::bench
