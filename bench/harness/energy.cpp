// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/energy.hpp"

#include <fstream>
#include <string>
#include <utility>

#include <dlfcn.h>

namespace l3::bench {
namespace {

template <class Function>
Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::optional<double> difference(std::optional<double> now, std::optional<double> before) {
  // RAPL's counter starts again from 0, at some hundred kilojoules.
  if (!now || !before || *now < *before) return {};
  return *now - *before;
}

} // namespace

used_energy used_energy::since(const used_energy& before) const {
  return {difference(processors, before.processors), difference(device, before.device)};
}

energy_meter::energy_meter(std::filesystem::path powercap, bool device)
    : powercap_(std::move(powercap)) {
  void* const nvml = device ? ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (nvml == nullptr) return;
  auto* const begin = look_up<int()>(nvml, "nvmlInit_v2");
  auto* const find = look_up<int(unsigned, void**)>(nvml, "nvmlDeviceGetHandleByIndex_v2");
  auto* const energy =
      look_up<int(void*, unsigned long long*)>(nvml, "nvmlDeviceGetTotalEnergyConsumption");
  if (begin == nullptr || find == nullptr || energy == nullptr) return;
  if (begin() != 0 || find(0, &device_) != 0) return;
  total_energy_ = energy;
  utilization_ = look_up<int(void*, unsigned*)>(nvml, "nvmlDeviceGetUtilizationRates");
}

used_energy energy_meter::read() const { return {read_processors(), read_device()}; }

std::optional<double> energy_meter::busy() const {
  constexpr double percent = 0.01;
  unsigned kernels_and_memory[2] = {};
  if (utilization_ == nullptr || utilization_(device_, kernels_and_memory) != 0) return {};
  return percent * kernels_and_memory[0];
}

/// The sum over the packages: intel-rapl:0, intel-rapl:1 …, with that name on AMD's, too.
std::optional<double> energy_meter::read_processors() const {
  constexpr double micro = 1e-6;
  std::optional<double> joules;
  for (unsigned package = 0;; ++package) {
    std::ifstream in(powercap_ / ("intel-rapl:" + std::to_string(package)) / "energy_uj");
    std::uint64_t microjoules = 0;
    if (!(in >> microjoules)) return joules;
    joules = joules.value_or(0) + micro * static_cast<double>(microjoules);
  }
}

std::optional<double> energy_meter::read_device() const {
  constexpr double milli = 1e-3;
  unsigned long long millijoules = 0;
  if (total_energy_ == nullptr || total_energy_(device_, &millijoules) != 0) return {};
  return milli * static_cast<double>(millijoules);
}

} // namespace l3::bench
