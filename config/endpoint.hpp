// SPDX-License-Identifier: Apache-2.0
// The form of an output link's endpoint: "tcp://host:port". ZeroMQ accepts any number as a port and
// truncates it to 16 bits, so every text from outside is checked here first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/format/source_list.hpp"

namespace l3 {

/// Accepts 0..65535 and no other text.
[[nodiscard]] std::optional<std::uint16_t> read_port(std::string_view text);

/// Accepts tcp:// with a host and a port in 1..65535. The host is not looked up.
[[nodiscard]] bool is_endpoint(std::string_view text);

/// Whether ZeroMQ can connect to the host of an endpoint, by its form. "*" stands for all addresses
/// of a listening machine; nothing can connect to it.
[[nodiscard]] bool is_destination(std::string_view endpoint);

/// Whether the host is a numeric IPv4 or IPv6 address.
[[nodiscard]] bool is_number(const std::string& host);

/// Whether the host is this machine's loopback.
[[nodiscard]] bool is_loopback(std::string_view host);
[[nodiscard]] bool is_on_this_machine(std::string_view endpoint);

struct internet_address {
  std::string host; ///< numeric address, or a name that is not looked up
  std::uint16_t port = 0;
};
/// Reads "127.0.0.1:9420", "[::1]:9420" or "node1:9420"; nothing for any other form.
[[nodiscard]] std::optional<internet_address> read_address(std::string_view text);
[[nodiscard]] std::string text_of(const internet_address& a);

// A network: "10.1.0.0/16" or "2001:db8::/32"; "10.1.2.3" or "2001:db8::7" is one machine.

/// Returns nothing if the text is no network, or if it sets bits after the prefix, because its
/// meaning is then unclear.
[[nodiscard]] std::optional<source_network> read_network(const std::string& text);
[[nodiscard]] std::string show_network(const source_network& network);

} // namespace l3
