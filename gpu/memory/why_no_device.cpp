// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/why_no_device.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace l3 {
namespace {

namespace fs = std::filesystem;

constexpr int most_cards = 32;

std::string version(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

/// The oldest driver for a CUDA runtime, according to NVIDIA's compatibility table.
std::string driver_for(int runtime) { return runtime / 1000 >= 13 ? "580" : "525"; }

/// A problem with the driver's files; empty if there is none.
std::string look_at(const device_files& files) {
  const fs::path root(files.root);
  const auto is_there = [&](const std::string& file) {
    std::error_code ignored;
    return fs::exists(root / file.substr(1), ignored);
  };
  const auto may_open = [&](const std::string& file) {
    const fs::path path = root / file.substr(1);
    return files.may_open ? files.may_open(path) : access(path.c_str(), R_OK | W_OK) == 0;
  };
  if (!is_there("/proc/driver/nvidia/version"))
    return "the kernel has not loaded NVIDIA's driver: `modprobe nvidia` as root, and look at "
           "`dmesg` if that fails";
  std::vector<std::string> needed{"/dev/nvidiactl", "/dev/nvidia-uvm"};
  for (int n = 0; n < most_cards; ++n)
    if (const std::string card = "/dev/nvidia" + std::to_string(n); is_there(card))
      needed.push_back(card);
  if (needed.size() == 2) needed.emplace_back("/dev/nvidia0");
  for (const std::string& file : needed) {
    if (!is_there(file))
      return "the device file " + file +
             " is missing: run `nvidia-modprobe -u -c 0` as root, or start nvidia-persistenced; in "
             "a container, give it the device";
    if (!may_open(file))
      return "this user may not open " + file +
             ": give the file's group to the user (`SupplementaryGroups=` of the service), and "
             "look for DeviceAllow= and PrivateDevices= in the service";
  }
  return {};
}

} // namespace

std::string why_no_device(const refused_device& refused, const device_files& files) {
  switch (refused.what) {
  case device_refusal::no_driver:
    return "there is no CUDA driver on this machine: install NVIDIA's driver " +
           driver_for(refused.runtime) + R"( or newer, or set compute.backend = "pool")";
  case device_refusal::old_driver:
    return "the driver supports CUDA " + version(refused.driver) + " and this program needs " +
           version(refused.runtime) + ": install NVIDIA's driver " + driver_for(refused.runtime) +
           " or newer";
  case device_refusal::in_use:
    return "another process uses the CUDA device exclusively: `nvidia-smi` names it; end it, or "
           "let several use the device (`nvidia-smi -c DEFAULT` as root)";
  case device_refusal::no_code:
    return "this program has no code for the CUDA device (" + refused.words +
           "): build it with the device's number in CMAKE_CUDA_ARCHITECTURES";
  case device_refusal::no_device:
  case device_refusal::other: break;
  }
  if (std::string found = look_at(files); !found.empty()) return found;
  return refused.what == device_refusal::no_device
             ? "there is no CUDA device on this machine (" + refused.words +
                   R"(): look at `nvidia-smi`, or set compute.backend = "pool")"
             : "the CUDA device does not answer (" + refused.words +
                   "): look at `nvidia-smi` and `dmesg`";
}

} // namespace l3
