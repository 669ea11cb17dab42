// SPDX-License-Identifier: Apache-2.0
// The energy that the processors and a GPU use, by their own counters: RAPL through
// /sys/class/powercap, which only root may read on most systems, and NVML. Both count the whole
// chip, also while it is idle. NVML also gives the part of the time in which a GPU ran kernels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace l3::bench {

struct used_energy {
  std::optional<double> processors; ///< joules; empty: no counter can be read
  std::optional<double> device;

  [[nodiscard]] bool is_measured() const { return processors || device; }
  /// The energy used from `before` until this reading.
  [[nodiscard]] used_energy since(const used_energy& before) const;
};

class energy_meter {
public:
  /// `powercap`: the folder with RAPL's zones. `device`: whether to load NVML and ask its GPU 0.
  energy_meter(std::filesystem::path powercap, bool device);

  [[nodiscard]] used_energy read() const;
  /// The part of the last second, or less, in which the device ran kernels; empty: unknown.
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
