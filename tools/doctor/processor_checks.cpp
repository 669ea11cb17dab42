// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "config/amount.hpp"
#include "tools/doctor/checks.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

namespace {

bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::ranges::all_of(name.substr(prefix.size()),
                             [](char c) { return c >= '0' && c <= '9'; });
}

void check_governor(const host& h, findings& to) {
  constexpr const char* what = "processors.governor";
  std::map<std::string, std::size_t> governors;
  for (const std::string& cpu : h.names("sys/devices/system/cpu")) {
    if (!is_numbered(cpu, "cpu")) continue;
    const std::string governor =
        h.text("sys/devices/system/cpu/" + cpu + "/cpufreq/scaling_governor");
    if (!governor.empty()) ++governors[governor];
  }
  if (governors.empty())
    return to.push_back({health::ok, what, "the kernel does not scale the processors' clock", ""});
  std::string list;
  for (const auto& [name, count] : governors)
    list += fmt::format("{}{} of {}", list.empty() ? "" : ", ", count, name);
  if (governors.size() == 1 && governors.begin()->first == "performance")
    return to.push_back({health::ok, what, "all processors have the governor performance", ""});
  to.push_back({health::warning, what,
                "some processors do not use the governor performance (" + list +
                    "): they are slow when a spill begins",
                "cpupower frequency-set -g performance"});
}

void check_numa(const host& h, findings& to) {
  constexpr const char* what = "processors.numa";
  std::vector<std::string> nodes;
  for (const std::string& name : h.names("sys/devices/system/node"))
    if (is_numbered(name, "node")) nodes.push_back(name);
  if (nodes.size() < 2)
    return to.push_back({health::ok, what, "all processors are equally close to the memory", ""});
  if (h.number("proc/sys/kernel/numa_balancing").value_or(0) != 0)
    return to.push_back({health::warning, what,
                         fmt::format("{} NUMA nodes, and the kernel moves pages between them while "
                                     "the daemon uses them",
                                     nodes.size()),
                         "sysctl -w kernel.numa_balancing=0"});
  to.push_back({health::ok, what,
                fmt::format("{} NUMA nodes, pages stay where they are", nodes.size()), ""});
}

} // namespace

void check_processors(const host& h, findings& to) {
  check_governor(h, to);
  check_numa(h, to);
}

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

namespace {

/// Width and speed of the links of all GPUs. An idle card may lower its speed, so this is called
/// when one has just computed something.
void check_links(const host& h, findings& to) {
  const std::string cards = "sys/bus/pci/devices/";
  for (const std::string& card : h.names(cards)) {
    const auto of = [&](const char* file) { return cards + card + "/" + file; };
    const std::string vendor = h.text(of("vendor"));
    const std::string kind = h.text(of("class"));
    const bool is_gpu = (vendor == "0x10de" || vendor == "0x1002") &&
                        (kind.starts_with("0x03") || kind.starts_with("0x12"));
    const auto lanes = h.number(of("current_link_width"));
    const auto most_lanes = h.number(of("max_link_width"));
    const auto speed = h.number(of("current_link_speed")); // "16.0 GT/s PCIe"
    const auto most_speed = h.number(of("max_link_speed"));
    if (!is_gpu || !lanes || !most_lanes || !speed || !most_speed) continue;
    const std::string has = fmt::format("the link of GPU {} has {} lanes at {}", card, *lanes,
                                        h.text(of("current_link_speed")));
    if (*lanes >= *most_lanes && *speed >= *most_speed) {
      to.push_back({health::ok, "device.link." + card, has, ""});
      continue;
    }
    to.push_back({health::warning, "device.link." + card,
                  fmt::format("{}, but the card can do {} at {}", has, *most_lanes,
                              h.text(of("max_link_speed"))),
                  "put the card into a slot with more lanes or a newer generation, and look at "
                  "risers and the firmware's settings; an idle card may be slower: check again "
                  "while the daemon runs"});
  }
}

} // namespace

void check_device(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "device";
  const bool is_hip = s.compute.where == backend::hip;
  if (s.compute.where != backend::cuda && s.compute.where != backend::automatic && !is_hip)
    return to.push_back({health::ok, what, "compute.backend needs no GPU", ""});
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01 …"
  std::string driver = h.text("proc/driver/nvidia/version");
  driver = driver.substr(0, driver.find('\n'));
  const std::string why = h.why_no_device ? h.why_no_device() : std::string("not checked");
  if (why.empty()) {
    to.push_back({health::ok, what, "a GPU answers" + (driver.empty() ? "" : "; " + driver), ""});
    return check_links(h, to);
  }
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

namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr double mebibyte = 1 << 20;
  constexpr double gibibyte = 1 << 30;
  const auto n = static_cast<double>(bytes);
  return n < gibibyte ? fmt::format("{:.1f} MiB", n / mebibyte)
                      : fmt::format("{:.1f} GiB", n / gibibyte);
}

void check_receive_buffer(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "sockets.receive_buffer";
  const std::uint64_t wanted = s.udp.socket_buffer.bytes;
  const auto granted = h.number("proc/sys/net/core/rmem_max");
  if (s.udp.bind.empty() || !granted) return;
  if (static_cast<std::uint64_t>(*granted) >= wanted)
    return to.push_back(
        {health::ok, what,
         fmt::format("the kernel grants the {} of udp.socket_buffer", size_text(wanted)), ""});
  to.push_back({health::warning, what,
                fmt::format("the kernel grants {} of the {} of udp.socket_buffer to a daemon that "
                            "is not root: bursts may be dropped",
                            size_text(static_cast<std::uint64_t>(*granted)), size_text(wanted)),
                fmt::format("sysctl -w net.core.rmem_max={0} && echo net.core.rmem_max={0} "
                            ">>/etc/sysctl.d/koto-l3.conf",
                            wanted)});
}

/// Returns the soft limit in bytes, or nothing if it is unlimited or cannot be read.
std::optional<std::uint64_t> locked_limit(const host& h) {
  std::istringstream lines(h.text("proc/self/limits"));
  constexpr std::string_view name = "Max locked memory";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::uint64_t bytes = 0;
    std::istringstream number(line.substr(name.size()));
    if (number >> bytes) return bytes;
  }
  return std::nullopt;
}

void check_locked(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "memory.locked";
  const auto limit = h.privileged ? std::nullopt : locked_limit(h);
  const std::uint64_t wanted = s.outbox.memory.bytes;
  if (!limit || *limit >= 2 * wanted)
    return to.push_back({health::ok, what, "memory can be locked", ""});
  to.push_back({health::warning, what,
                fmt::format("a process of this user may lock {} of memory, but the daemon needs "
                            "more than the {} of outbox.memory: pages may be swapped out",
                            size_text(*limit), size_text(wanted)),
                "ulimit -l unlimited, or for the service: systemctl edit koto-l3d, [Service] "
                "LimitMEMLOCK=infinity"});
}

void check_limit(const host& h, const daemon_settings& s, findings& to) {
  constexpr const char* what = "memory.limit";
  const memory_limit limit = lowest_memory_limit(h.root);
  const std::uint64_t wanted = s.outbox.memory.bytes;
  if (limit.whose.empty())
    return to.push_back({health::ok, what, "the size of the memory cannot be read", ""});
  const std::string has = fmt::format("{} has {} of memory, outbox.memory is {}", limit.whose,
                                      size_text(limit.bytes), size_text(wanted));
  const std::string remedy =
      limit.whose.starts_with("the control group")
          ? "systemctl set-property koto-l3d MemoryMax=infinity, or a smaller outbox.memory; "
            "koto-l3d --check-config computes the sum"
          : "a smaller outbox.memory; koto-l3d --check-config computes the sum";
  if (wanted > limit.bytes) return to.push_back({health::bad, what, has, remedy});
  // Frames, parked events and the system need the rest.
  if (wanted > limit.bytes / 10 * 8) return to.push_back({health::warning, what, has, remedy});
  to.push_back({health::ok, what, has, ""});
}

} // namespace

void check_memory(const host& h, const daemon_settings& s, findings& to) {
  check_receive_buffer(h, s, to);
  check_locked(h, s, to);
  check_limit(h, s, to);
}

} // namespace l3
