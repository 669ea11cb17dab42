// SPDX-License-Identifier: Apache-2.0
// The energy that the processors and a GPU use, from the counters that they have themselves: RAPL
// by way of /sys/class/powercap, which only root may read on most systems, and NVML. Both count the
// whole chip, also while it waits. NVML also says which part of the time a GPU ran kernels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace l3::bench {

struct used_energy {
  std::optional<double> processors; ///< joules; none: no counter can be read
  std::optional<double> device;

  [[nodiscard]] bool is_measured() const { return processors || device; }
  /// From `before` to now.
  [[nodiscard]] used_energy since(const used_energy& before) const;
};

class energy_meter {
public:
  /// `powercap`: the folder with RAPL's zones. `device`: whether to load NVML and ask its GPU 0.
  energy_meter(std::filesystem::path powercap, bool device);

  [[nodiscard]] used_energy read() const;
  /// Which part of the last second or less the device ran kernels, to 0.01; none: unknown.
  [[nodiscard]] std::optional<double> busy() const;

private:
  [[nodiscard]] std::optional<double> read_processors() const;
  [[nodiscard]] std::optional<double> read_device() const;

  std::filesystem::path powercap_;
  void* device_ = nullptr; ///< NVML's; lives as long as the process
  int (*total_energy_)(void*, unsigned long long*) = nullptr;
  int (*utilization_)(void*, unsigned*) = nullptr; ///< of kernels and of memory, in percent
};

} // namespace l3::bench
