// SPDX-License-Identifier: Apache-2.0
#include "config/network.hpp"

#include <arpa/inet.h>

#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr int address_bits = 32;

} // namespace

std::optional<source_network> read_network(const std::string& text) {
  const auto slash = text.find('/');
  in_addr address{};
  if (inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return std::nullopt;
  int bits = address_bits;
  if (slash != std::string::npos) {
    const char* const first = text.data() + slash + 1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, bits);
    if (error != std::errc{} || end != last || bits < 0 || bits > address_bits) return std::nullopt;
  }
  const auto mask = bits == 0 ? 0U : ~0U << (address_bits - bits);
  const std::uint32_t number = ntohl(address.s_addr);
  if ((number & ~mask) != 0) return std::nullopt;
  return source_network{number, mask};
}

std::string show_network(const source_network& network) {
  const in_addr address{htonl(network.address)};
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address, text, sizeof text);
  const int bits = std::popcount(network.mask);
  return bits == address_bits ? text : fmt::format("{}/{}", text, bits);
}

} // namespace l3
