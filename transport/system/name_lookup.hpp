// SPDX-License-Identifier: Apache-2.0
// Finds the addresses of a host name without waiting. The system's look-up cannot be cancelled, and
// silent name servers make it slow, so it runs on a separate thread, which ends later if the caller
// stops waiting.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

/// Whether a network card of this machine has this numeric IPv4 or IPv6 address now. True if the
/// system does not tell.
[[nodiscard]] inline bool is_local_address(const std::string& number) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(sockaddr_in);
  if (::inet_pton(AF_INET, number.c_str(), &reinterpret_cast<sockaddr_in&>(address).sin_addr) ==
      1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, number.c_str(),
                         &reinterpret_cast<sockaddr_in6&>(address).sin6_addr) == 1) {
    address.ss_family = AF_INET6;
    bytes = sizeof(sockaddr_in6);
  } else {
    return false;
  }
  const file_descriptor s(::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s) return true;
  return ::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0 ||
         errno != EADDRNOTAVAIL;
}

/// Whether this numeric address is a multicast address, or the broadcast address of a local
/// network. The system lets a program listen there, but it would receive packets for others and
/// none for this machine.
[[nodiscard]] inline bool is_group_address(const std::string& number) {
  in6_addr v6{};
  if (::inet_pton(AF_INET6, number.c_str(), &v6) == 1) return IN6_IS_ADDR_MULTICAST(&v6);
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, number.c_str(), &v4.sin_addr) != 1) return false;
  if (IN_MULTICAST(ntohl(v4.sin_addr.s_addr))) return true;
  // Connecting a datagram socket without SO_BROADCAST to such an address fails.
  v4.sin_family = AF_INET;
  v4.sin_port = htons(9);
  const file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return s && ::connect(s.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) != 0 &&
         errno == EACCES;
}

struct found_addresses {
  std::vector<std::string> addresses; ///< numeric, such as "10.1.0.1" or "fe80::1%eth0"
  std::string failure;                ///< why there is no address
};

/// Names the machine's name servers, for a message.
[[nodiscard]] inline std::string silent_name_servers() {
  std::ifstream file("/etc/resolv.conf");
  std::string all;
  for (std::string word; file >> word;)
    if (word == "nameserver" && file >> word) all += (all.empty() ? "" : ", ") + word;
  return "no name server answers (/etc/resolv.conf: " + (all.empty() ? "none" : all) + ")";
}

/// Waits for the system.
[[nodiscard]] inline found_addresses addresses_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first); error != 0)
    return {{}, error == EAI_AGAIN ? silent_name_servers() : ::gai_strerror(error)};
  found_addresses found;
  for (const addrinfo* a = first; a != nullptr; a = a->ai_next) {
    std::string text(NI_MAXHOST, '\0');
    if (::getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), static_cast<socklen_t>(text.size()),
                      nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    found.addresses.emplace_back(text.c_str());
  }
  ::freeaddrinfo(first);
  if (found.addresses.empty()) found.failure = "the name has no address";
  return found;
}

/// `ask`: addresses_of(), except in tests. The result's destructor does not wait. If no thread can
/// be started, the result says so.
template <class Ask>
[[nodiscard]] std::future<found_addresses> look_up(std::string host, Ask ask) {
  const auto promise = std::make_shared<std::promise<found_addresses>>();
  try {
    std::thread([promise, host = std::move(host), ask] { promise->set_value(ask(host)); }).detach();
  } catch (const std::system_error& e) {
    promise->set_value({{}, "no thread could be started to look it up: " + e.code().message()});
  }
  return promise->get_future();
}

/// Waits for the system, but not for silent name servers.
[[nodiscard]] inline found_addresses addresses_soon(const std::string& host) {
  constexpr std::chrono::seconds patience(5);
  auto asked = look_up(host, addresses_of);
  if (asked.wait_for(patience) == std::future_status::ready) return asked.get();
  return {{}, silent_name_servers()};
}

/// The address to listen at for a given address or name: a name's first IPv4 address, or else its
/// first. Waits as addresses_soon(). Throws std::runtime_error if there is none, or if it is a
/// multicast or broadcast address.
[[nodiscard]] inline std::string listening_address(const std::string& host) {
  const found_addresses found = addresses_soon(host);
  if (found.addresses.empty())
    throw std::runtime_error(host + " has no address on this machine: " + found.failure);
  const auto is_v4 = [](const std::string& a) { return a.find(':') == a.npos; };
  const auto first = std::ranges::find_if(found.addresses, is_v4);
  const std::string& number = first == found.addresses.end() ? found.addresses.front() : *first;
  if (is_group_address(number))
    throw std::runtime_error(host + " is a multicast or broadcast address: give an address of this "
                                    "machine, or 0.0.0.0 for all");
  return number;
}

} // namespace l3
