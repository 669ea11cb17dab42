// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_address.hpp"

#include <stdexcept>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include "transport/system/name_lookup.hpp"

namespace l3 {

namespace {

constexpr std::string_view tcp = "tcp://";

} // namespace

std::string_view host_of(std::string_view endpoint) {
  if (!endpoint.starts_with(tcp)) return {};
  const auto colon = endpoint.rfind(':');
  return endpoint.substr(tcp.size(), colon - tcp.size());
}

bool is_ipv6(std::string_view endpoint) { return host_of(endpoint).find(':') != endpoint.npos; }

bool names_a_machine(const std::string& endpoint) {
  const std::string host(host_of(endpoint));
  in_addr address{};
  return !host.empty() && host != "*" && !is_ipv6(endpoint) &&
         ::inet_pton(AF_INET, host.c_str(), &address) != 1;
}

std::string endpoint_from(const std::string& local, const std::string& endpoint) {
  if (local.empty() || !endpoint.starts_with(tcp)) return endpoint;
  const bool ipv6 = local.find(':') != local.npos;
  return std::string(tcp) + (ipv6 ? "[" + local + "]" : local) + ":0;" +
         endpoint.substr(tcp.size());
}

std::string endpoint_to_listen_at(const std::string& endpoint) {
  std::string host(host_of(endpoint));
  if (host.empty() || host == "*" || ::if_nametoindex(host.c_str()) != 0) return endpoint;
  if (is_ipv6(endpoint)) host = host.substr(1, host.size() - 2); // without brackets
  std::string number;
  try {
    number = listening_address(host);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error("cannot listen on " + endpoint + ": " + e.what());
  }
  const bool ipv6 = number.find(':') != number.npos;
  return std::string(tcp) + (ipv6 ? "[" + number + "]" : number) +
         endpoint.substr(endpoint.rfind(':'));
}

} // namespace l3
