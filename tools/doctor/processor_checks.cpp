// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tools/doctor/checks.hpp"

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
                         "sysctl -w kernel.numa_balancing=0, and start the daemon with numactl "
                         "--cpunodebind=N --membind=N, N the network card's node"});
  to.push_back({health::ok, what,
                fmt::format("{} NUMA nodes, pages stay where they are; the network card's node is "
                            "in /sys/class/net/CARD/device/numa_node",
                            nodes.size()),
                ""});
}

} // namespace

void check_processors(const host& h, findings& to) {
  check_governor(h, to);
  check_numa(h, to);
}

} // namespace l3
