// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/doctor/checks.hpp"

namespace l3 {

void check_clock(const host& h, findings& to) {
  constexpr const char* what = "clock";
  constexpr double most_error = 0.1; // in s; receivers' lags and log times are compared
  const auto clock = h.clock ? h.clock() : std::nullopt;
  if (!clock) return to.push_back({health::ok, what, "the clock's state cannot be read", ""});
  if (!clock->synchronised)
    return to.push_back({health::warning, what,
                         "the kernel's clock is not synchronised: times of nodes do not agree",
                         "apt-get install chrony, or timedatectl set-ntp true"});
  if (clock->error > most_error)
    return to.push_back({health::warning, what,
                         fmt::format("the clock may be wrong by {:.2g} s", clock->error),
                         "chronyc tracking, and use a nearer time server"});
  to.push_back(
      {health::ok, what, fmt::format("the clock is synchronised, to {:.2g} s", clock->error), ""});
}

void check_device(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "device";
  const bool is_hip = s.compute.where == backend::hip;
  if (s.compute.where != backend::cuda && s.compute.where != backend::automatic && !is_hip)
    return to.push_back({health::ok, what, "compute.backend needs no GPU", ""});
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01 …"
  std::string driver = h.text("proc/driver/nvidia/version");
  driver = driver.substr(0, driver.find('\n'));
  const std::string why = h.why_no_device ? h.why_no_device() : std::string("not checked");
  if (why.empty())
    return to.push_back(
        {health::ok, what, "a GPU answers" + (driver.empty() ? "" : "; " + driver), ""});
  const bool wanted = s.compute.where == backend::cuda || is_hip;
  const std::string remedy =
      is_hip           ? "install AMD's driver (amdgpu), or set compute.backend = \"pool\""
      : driver.empty() ? "install NVIDIA's driver, or set compute.backend = \"pool\""
                       : "nvidia-smi; systemctl enable --now nvidia-persistenced";
  if (wanted || !driver.empty())
    return to.push_back(
        {wanted ? health::bad : health::warning, what, "no GPU can be used: " + why, remedy});
  to.push_back({health::ok, what, "no GPU: the processors compute (" + why + ")", ""});
}

} // namespace l3
