// SPDX-License-Identifier: Apache-2.0
// How an end of the output link is written: "tcp://host:port". ZeroMQ itself takes any number for a
// port and uses what is left of it in 16 bits, so every text from outside is checked here before
// ZeroMQ gets it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/format/source_list.hpp"

namespace l3 {

/// 0..65535, and nothing else in the text.
[[nodiscard]] std::optional<std::uint16_t> read_port(std::string_view text);

/// tcp:// with a host and a port in 1..65535. The host is not looked up.
[[nodiscard]] bool is_endpoint(std::string_view text);

/// Whether ZeroMQ takes the host of an endpoint as one to connect to, by its letters. "*" stands
/// for all addresses of a machine that listens; nothing can connect to it.
[[nodiscard]] bool is_destination(std::string_view endpoint);

/// An address of IPv4 or IPv6, as a number.
[[nodiscard]] bool is_number(const std::string& host);

/// The host of an endpoint or an address is this machine's own loopback.
[[nodiscard]] bool is_loopback(std::string_view host);
[[nodiscard]] bool is_on_this_machine(std::string_view endpoint);

struct internet_address {
  std::string host; ///< a number, or a name, which is not looked up
  std::uint16_t port = 0;
};
/// "127.0.0.1:9420", "[::1]:9420" or "node1:9420"; nothing if it is none of these.
[[nodiscard]] std::optional<internet_address> read_address(std::string_view text);
[[nodiscard]] std::string text_of(const internet_address& a);

// A network: "10.1.0.0/16" or "2001:db8::/32"; "10.1.2.3" or "2001:db8::7" is one machine.

/// Nothing if the text is no network, or sets bits beyond those of the network: its meaning is then
/// unclear.
[[nodiscard]] std::optional<source_network> read_network(const std::string& text);
[[nodiscard]] std::string show_network(const source_network& network);

} // namespace l3
