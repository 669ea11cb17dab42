// SPDX-License-Identifier: Apache-2.0
// Finds the addresses of a host name without waiting. The system's look-up cannot be cancelled, and
// silent name servers make it slow, so it runs on a separate thread, which ends later if the caller
// stops waiting.
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "transport/system/local_address.hpp"

namespace l3 {

struct found_addresses {
  std::vector<std::string> addresses; ///< numeric, such as "10.1.0.1" or "fe80::1%eth0"
  std::string failure;                ///< why there is no address
};

/// Waits for the system.
[[nodiscard]] inline found_addresses addresses_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &wanted, &first); error != 0)
    return {{}, ::gai_strerror(error)};
  found_addresses found;
  for (const addrinfo* a = first; a != nullptr; a = a->ai_next) {
    std::string text(NI_MAXHOST, '\0');
    if (::getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), static_cast<socklen_t>(text.size()),
                      nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    found.addresses.emplace_back(text.c_str());
  }
  ::freeaddrinfo(first);
  if (found.addresses.empty()) found.failure = "it has no address";
  return found;
}

/// The address to listen at for a given address or name: a name's first IPv4 address, or else its
/// first. Waits for the system. Throws std::runtime_error if there is none, or if it is a multicast
/// or broadcast address.
[[nodiscard]] inline std::string listening_address(const std::string& host) {
  const found_addresses found = addresses_of(host);
  if (found.addresses.empty())
    throw std::runtime_error(host + " has no address here: " + found.failure);
  const auto is_v4 = [](const std::string& a) { return a.find(':') == a.npos; };
  const auto first = std::ranges::find_if(found.addresses, is_v4);
  const std::string& number = first == found.addresses.end() ? found.addresses.front() : *first;
  if (is_group_address(number))
    throw std::runtime_error(host + " is an address of many machines (multicast or broadcast): "
                                    "give one of this machine, or 0.0.0.0 for all it has");
  return number;
}

/// `ask`: addresses_of(), except in tests. The result's destructor does not wait. If no thread can
/// be started, the result says so.
template <class Ask>
[[nodiscard]] std::future<found_addresses> look_up(std::string host, Ask ask) {
  const auto promise = std::make_shared<std::promise<found_addresses>>();
  try {
    std::thread([promise, host = std::move(host), ask] { promise->set_value(ask(host)); }).detach();
  } catch (const std::system_error& e) {
    promise->set_value({{}, "no thread could ask for it: " + e.code().message()});
  }
  return promise->get_future();
}

} // namespace l3
