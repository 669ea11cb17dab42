// SPDX-License-Identifier: Apache-2.0
// The network cards that receive for an address. Software devices (lo, veth, bridges) are no cards,
// but the cards below a bond, bridge or VLAN are found.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/system/name_lookup.hpp"

namespace l3 {

/// The interfaces that have the address or name at which a program listens. All interfaces if none
/// has it, as with 0.0.0.0. Waits as addresses_soon().
[[nodiscard]] inline std::set<std::string> interfaces_of(const std::string& host) {
  const auto numbers = addresses_soon(host).addresses;
  std::set<std::string> all;
  std::set<std::string> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, ::freeifaddrs);
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    all.insert(i->ifa_name);
    const int family = i->ifa_addr == nullptr ? AF_UNSPEC : i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::string text(NI_MAXHOST, '\0');
    const std::size_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(i->ifa_addr, static_cast<socklen_t>(bytes), text.data(),
                      static_cast<socklen_t>(text.size()), nullptr, 0, NI_NUMERICHOST) == 0 &&
        std::ranges::find(numbers, text.c_str()) != numbers.end())
      found.insert(i->ifa_name);
  }
  return found.empty() ? all : found;
}

/// The cards of these interfaces that are not down. `root` contains sys.
[[nodiscard]] inline std::set<std::string> cards_of(const std::filesystem::path& root,
                                                    const std::set<std::string>& interfaces) {
  namespace fs = std::filesystem;
  std::set<std::string> cards;
  for (const std::string& name : interfaces) {
    const fs::path folder = root / "sys/class/net" / name;
    std::error_code error;
    std::string state;
    std::ifstream(folder / "operstate") >> state;
    if (fs::exists(folder / "device", error) && state != "down") cards.insert(name);
    std::set<std::string> lower; // "lower_eth0"
    constexpr std::string_view prefix = "lower_";
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (const std::string entry = it->path().filename(); entry.starts_with(prefix))
        lower.insert(entry.substr(prefix.size()));
    if (!lower.empty()) cards.merge(cards_of(root, lower));
  }
  return cards;
}

} // namespace l3
