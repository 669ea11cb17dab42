// SPDX-License-Identifier: Apache-2.0
#include "config/endpoint.hpp"

#include <charconv>

namespace l3 {

std::optional<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_endpoint(std::string_view text) {
  constexpr std::string_view tcp = "tcp://";
  const auto colon = text.rfind(':');
  return text.starts_with(tcp) && colon > tcp.size() && colon != text.npos &&
         read_port(text.substr(colon + 1)).value_or(0) != 0;
}

} // namespace l3
