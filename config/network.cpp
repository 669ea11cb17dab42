// SPDX-License-Identifier: Apache-2.0
#include "config/network.hpp"

#include <arpa/inet.h>

#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr int ipv4_bits = 32;
constexpr int ipv6_bits = 128;
constexpr int word_bits = 64;

struct written_address {
  ip_address address;
  int bits; ///< of an address of its family
};

std::optional<written_address> read(const std::string& text) {
  in_addr of_ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &of_ipv4) == 1)
    return written_address{ip_address::ipv4(ntohl(of_ipv4.s_addr)), ipv4_bits};
  std::array<std::uint8_t, 16> of_ipv6{};
  if (inet_pton(AF_INET6, text.c_str(), of_ipv6.data()) == 1)
    return written_address{ip_address::ipv6(of_ipv6), ipv6_bits};
  return std::nullopt;
}

/// 64 bits of which the first ones are set.
std::uint64_t first_bits(int bits) {
  if (bits <= 0) return 0;
  return bits >= word_bits ? ~0ULL : ~0ULL << (word_bits - bits);
}

} // namespace

std::optional<source_network> read_network(const std::string& text) {
  const auto slash = text.find('/');
  const auto written = read(text.substr(0, slash));
  if (!written) return std::nullopt;
  int bits = written->bits;
  if (slash != std::string::npos) {
    const char* const first = text.data() + slash + 1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(first, last, bits);
    if (error != std::errc{} || end != last || bits < 0 || bits > written->bits)
      return std::nullopt;
  }
  bits += ipv6_bits - written->bits;
  const source_network network{written->address, {first_bits(bits), first_bits(bits - word_bits)}};
  if (!network.holds(network.address)) return std::nullopt;
  return network;
}

std::string show_network(const source_network& network) {
  const ip_address& a = network.address;
  int bits = std::popcount(network.mask.high) + std::popcount(network.mask.low);
  const bool is_ipv4 = a.is_ipv4() && bits >= ipv6_bits - ipv4_bits;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::uint64_t word = n < 8 ? a.high : a.low;
    bytes[n] = static_cast<std::uint8_t>(word >> (word_bits - 8 - n % 8 * 8));
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? &bytes[12] : bytes.data(), text, sizeof text);
  if (is_ipv4) bits -= ipv6_bits - ipv4_bits;
  return bits == (is_ipv4 ? ipv4_bits : ipv6_bits) ? text : fmt::format("{}/{}", text, bits);
}

} // namespace l3
