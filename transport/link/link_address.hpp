// SPDX-License-Identifier: Apache-2.0
// An endpoint of the output link, "tcp://host:port", in the form that ZeroMQ needs. The host is an
// IPv4 address, an IPv6 address in brackets, "*", the name of a network interface, or a machine's
// name. ZeroMQ accepts IPv6 addresses only on a socket set for them, and does not listen at machine
// names; an IPv6 socket looks a name up as IPv6 first.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

/// Whether the host is an IPv6 address.
[[nodiscard]] bool is_ipv6(std::string_view endpoint);

/// The host, an IPv6 address with its brackets; empty for ZeroMQ's other transports, which tests
/// may use.
[[nodiscard]] std::string_view host_of(std::string_view endpoint);

/// Whether the host to connect to is a name, which may have IPv4 and IPv6 addresses.
[[nodiscard]] bool names_a_machine(const std::string& endpoint);

/// The endpoint for a connection from this local address; an empty address means any.
[[nodiscard]] std::string endpoint_from(const std::string& local, const std::string& endpoint);

/// The endpoint to listen at: a machine's name is replaced by its address, IPv4 if it has one.
/// Waits for the system's look-up. Throws std::runtime_error if there is none.
[[nodiscard]] std::string endpoint_to_listen_at(const std::string& endpoint);

} // namespace l3
