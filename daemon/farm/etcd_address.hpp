// SPDX-License-Identifier: Apache-2.0
// An address of etcd as it is configured, "http://host:port", and what it leads to.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "config/endpoint.hpp"
#include "transport/format/time.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {

struct found_etcd {
  std::string host; ///< as a request names it
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
  std::string failure; ///< why there is none
};

/// A name that is being looked up by then is not waited for.
[[nodiscard]] inline found_etcd find_etcd(const std::string& address, time_point until) {
  const auto at = read_address(std::string_view(address).substr(address.find("//") + 2));
  if (!at) return {{}, {}, "it is no address"};
  found_etcd found{text_of(*at), {}, {}};
  auto asked = look_up(at->host, addresses_of);
  if (asked.wait_until(until) != std::future_status::ready) {
    found.failure = "no name server answers";
    return found;
  }
  const found_addresses numbers = asked.get();
  found.failure = numbers.failure;
  for (const std::string& number : numbers.addresses) {
    boost::system::error_code none;
    const auto a = boost::asio::ip::make_address(number, none);
    if (!none) found.endpoints.emplace_back(a, at->port);
  }
  return found;
}

} // namespace l3
