// SPDX-License-Identifier: Apache-2.0
// Where an end of the output link is, "tcp://host:port", as ZeroMQ has to be told it. The host is
// an address of IPv4, one of IPv6 in brackets, "*", the name of a network interface, or the name of
// a machine. ZeroMQ takes an address of IPv6 only from a socket that was set for it, and listens at
// no name of a machine; such a socket looks a name up as IPv6 first.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

/// The host is an address of IPv6.
[[nodiscard]] bool is_ipv6(std::string_view endpoint);

/// The host as it stands there, an address of IPv6 with its brackets; empty of another transport of
/// ZeroMQ, as a test may use it.
[[nodiscard]] std::string_view host_of(std::string_view endpoint);

/// The host is the name of a machine, which may have addresses of both kinds.
[[nodiscard]] bool names_a_machine(const std::string& endpoint);

/// The same endpoint for a connection from this local address; any, if it is empty.
[[nodiscard]] std::string endpoint_from(const std::string& local, const std::string& endpoint);

/// Where to listen: an address in place of a machine's name, of IPv4 if it has one. Waits for the
/// system to look the name up. Throws std::runtime_error if there is none.
[[nodiscard]] std::string endpoint_to_listen_at(const std::string& endpoint);

} // namespace l3
