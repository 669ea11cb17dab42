// SPDX-License-Identifier: Apache-2.0
#include "config/endpoint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace l3 {

std::optional<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_endpoint(std::string_view text) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::size_t longest = 300; // a name has at most 253 characters
  const auto colon = text.rfind(':');
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  return plain && text.size() <= longest && text.starts_with(tcp) && colon > tcp.size() &&
         colon != text.npos && read_port(text.substr(colon + 1)).value_or(0) != 0;
}

namespace {

bool is_of(int family, const std::string& host) {
  in6_addr address{};
  return inet_pton(family, host.c_str(), &address) == 1;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Letters as in RFC 1123, and '_', which some hosts have in their names. The last part must begin
/// with a letter, so that a mistyped address, or 0x7f000001, which the system would accept, is not
/// looked up.
bool is_name(std::string_view host) {
  constexpr std::size_t longest = 253;
  constexpr std::string_view marks = ".-_";
  const auto may_stand = [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != marks.npos;
  };
  const std::string_view last = host.substr(host.rfind('.') + 1); // the whole name if it has no dot
  return !host.empty() && host.size() <= longest && std::ranges::all_of(host, may_stand) &&
         host.front() != '.' && host.front() != '-' && !last.empty() && is_letter(last.front());
}

} // namespace

bool is_destination(std::string_view endpoint) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view marks = ".-:%;[]_";
  const std::string_view host = endpoint.substr(tcp.size(), endpoint.rfind(':') - tcp.size());
  const auto may_stand = [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != marks.npos;
  };
  return !host.empty() && host != "[]" &&
         (is_letter(host.front()) || is_digit(host.front()) || host.front() == '[' ||
          host.front() == ':') &&
         std::ranges::all_of(host, may_stand);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && is_number(std::string(host)));
}

bool is_on_this_machine(std::string_view endpoint) {
  const auto address = read_address(endpoint.substr(endpoint.find("//") + 2));
  return address && is_loopback(address->host);
}

bool is_number(const std::string& host) { return is_of(AF_INET, host) || is_of(AF_INET6, host); }

std::optional<internet_address> read_address(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto port = colon == text.npos ? std::nullopt : read_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string host(text.substr(0, colon));
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (in_brackets ? !is_of(AF_INET6, host) : !is_of(AF_INET, host) && !is_name(host))
    return std::nullopt;
  return internet_address{std::move(host), *port};
}

std::string text_of(const internet_address& a) {
  const bool is_v6 = a.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + a.host + "]" : a.host) + ":" + std::to_string(a.port);
}

namespace {

constexpr int ipv4_bits = 32;
constexpr int ipv6_bits = 128;
constexpr int word_bits = 64;

struct written_address {
  ip_address address;
  int bits; ///< length of an address of its family
};

std::optional<written_address> read_written(const std::string& text) {
  in_addr of_ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &of_ipv4) == 1)
    return written_address{ip_address::ipv4(ntohl(of_ipv4.s_addr)), ipv4_bits};
  std::array<std::uint8_t, 16> of_ipv6{};
  if (inet_pton(AF_INET6, text.c_str(), of_ipv6.data()) == 1)
    return written_address{ip_address::ipv6(of_ipv6), ipv6_bits};
  return std::nullopt;
}

/// 64 bits with the first `bits` set.
std::uint64_t first_bits(int bits) {
  if (bits <= 0) return 0;
  return bits >= word_bits ? ~0ULL : ~0ULL << (word_bits - bits);
}

} // namespace

std::optional<source_network> read_network(const std::string& text) {
  const auto slash = text.find('/');
  const auto written = read_written(text.substr(0, slash));
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
