// SPDX-License-Identifier: Apache-2.0
#include "config/endpoint.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <arpa/inet.h>

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

/// By the letters of RFC 1123; its last part begins with a letter, so that a mistake in an address,
/// or 0x7f000001, which the system would take, is not looked up.
bool is_name(std::string_view host) {
  constexpr std::size_t longest = 253;
  const auto may_stand = [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; };
  const std::string_view last = host.substr(host.rfind('.') + 1); // all of it where there is none
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

} // namespace l3
