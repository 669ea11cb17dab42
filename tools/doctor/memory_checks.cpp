// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include <fmt/format.h>

#include "config/amount.hpp"
#include "tools/doctor/checks.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {
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

/// The soft limit; nothing if there is none or it cannot be read.
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
