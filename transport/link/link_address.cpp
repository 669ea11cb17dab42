// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_address.hpp"

#include <memory>
#include <stdexcept>

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace l3 {

namespace {

constexpr std::string_view tcp = "tcp://";

[[noreturn]] void no_address(const std::string& endpoint, int fault) {
  throw std::runtime_error("cannot listen on " + endpoint + ": " + ::gai_strerror(fault));
}

/// Empty of another transport of ZeroMQ, as a test may use it.
std::string_view host_of(std::string_view endpoint) {
  if (!endpoint.starts_with(tcp)) return {};
  const auto colon = endpoint.rfind(':');
  return endpoint.substr(tcp.size(), colon - tcp.size());
}

} // namespace

bool is_ipv6(std::string_view endpoint) { return host_of(endpoint).find(':') != endpoint.npos; }

bool names_a_machine(const std::string& endpoint) {
  const std::string host(host_of(endpoint));
  in_addr address{};
  return !host.empty() && host != "*" && !is_ipv6(endpoint) &&
         ::inet_pton(AF_INET, host.c_str(), &address) != 1 && ::if_nametoindex(host.c_str()) == 0;
}

std::string endpoint_from(const std::string& local, const std::string& endpoint) {
  if (local.empty() || !endpoint.starts_with(tcp)) return endpoint;
  const bool ipv6 = local.find(':') != local.npos;
  return std::string(tcp) + (ipv6 ? "[" + local + "]" : local) + ":0;" +
         endpoint.substr(tcp.size());
}

std::string endpoint_to_listen_at(const std::string& endpoint) {
  if (!names_a_machine(endpoint)) return endpoint;
  const std::string host(host_of(endpoint));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  const int looked_up = ::getaddrinfo(host.c_str(), nullptr, &wanted, &all);
  if (looked_up != 0 || all == nullptr) no_address(endpoint, looked_up);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(all, &::freeaddrinfo);
  const addrinfo* chosen = all;
  for (const addrinfo* a = all; a != nullptr && chosen->ai_family != AF_INET; a = a->ai_next)
    if (a->ai_family == AF_INET) chosen = a;
  char text[NI_MAXHOST];
  if (const int fault = ::getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof text,
                                      nullptr, 0, NI_NUMERICHOST);
      fault != 0)
    no_address(endpoint, fault);
  const std::string port(endpoint.substr(endpoint.rfind(':')));
  const bool ipv4 = chosen->ai_family == AF_INET;
  return std::string(tcp) + (ipv4 ? text : "[" + std::string(text) + "]") + port;
}

} // namespace l3
