// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/destination.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <netdb.h>

#include "transport/format/endian.hpp"
#include "transport/system/name_lookup.hpp"

namespace l3 {
namespace {

// In events or bits per second. Within these bounds the time of the largest record, 2^29 bits, fits
// 63 bits of nanoseconds.
constexpr double lowest_rate = 0.1;
constexpr double highest_rate = 1e15;

[[noreturn]] void refuse(std::string_view text, const char* wanted) {
  throw std::invalid_argument("'" + std::string(text) + "' is not " + wanted);
}

std::optional<std::uint16_t> parse_number(std::string_view text) {
  std::uint16_t n = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size() || n == 0) return std::nullopt;
  return n;
}

/// Removes and returns the number at the start of the text.
std::optional<double> take_number(std::string_view& text) {
  double v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc{} || !std::isfinite(v)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(r.ptr - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return v;
}

} // namespace

std::string destination::text() const {
  const bool udp = how == protocol::udp;
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}{}", udp ? "udp" : "tcp", brackets ? "[" : "", host,
                     brackets ? "]" : "", port, ports > 1 ? fmt::format("+{}", ports) : "");
}

std::string text_of(const std::vector<destination>& all) {
  std::string text;
  for (const destination& d : all) text += (text.empty() ? "" : ", ") + d.text();
  return text;
}

destination parse_destination(std::string_view whole) {
  constexpr const char* wanted = "a destination like udp://host:42000+8 or tcp://host:42100";
  destination d;
  auto text = whole;
  if (text.starts_with("tcp://")) {
    d.how = destination::protocol::tcp;
  } else if (!text.starts_with("udp://")) {
    refuse(whole, wanted);
  }
  text.remove_prefix(std::strlen("udp://"));
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) refuse(whole, wanted);
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  d.host = host;

  auto port = text.substr(colon + 1);
  if (const auto plus = port.find('+'); plus != std::string_view::npos) {
    const auto n = parse_number(port.substr(plus + 1));
    if (!n || d.how == destination::protocol::tcp) refuse(whole, wanted);
    d.ports = *n;
    port = port.substr(0, plus);
  }
  const auto n = parse_number(port);
  constexpr std::uint32_t last_port = 0xffff;
  if (!n || d.host.empty() || std::uint32_t{*n} + d.ports - 1 > last_port) refuse(whole, wanted);
  d.port = *n;
  return d;
}

namespace {

/// The port, which has the same offset in both families.
std::byte* port_in(sockaddr_storage& a) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return reinterpret_cast<std::byte*>(&a) + offsetof(sockaddr_in, sin_port);
}

} // namespace

void socket_address::set_port(std::uint16_t port) { store_big(port_in(storage), port); }

std::uint16_t socket_address::port() const {
  auto copy = storage;
  return load_big<std::uint16_t>(port_in(copy));
}

socket_address resolve(const destination& d) {
  const found_addresses numbers = addresses_soon(d.host);
  if (numbers.addresses.empty()) throw std::runtime_error(d.text() + ": " + numbers.failure);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST;
  wanted.ai_socktype = d.how == destination::protocol::udp ? SOCK_DGRAM : SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(numbers.addresses.front().c_str(), nullptr, &wanted, &found);
      error != 0)
    throw std::runtime_error(d.text() + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  socket_address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  address.set_port(d.port);
  return address;
}

replay_rate parse_rate(std::string_view whole) {
  constexpr const char* wanted = "a rate like 10000ev/s, 40Gb/s or unlimited";
  if (whole == "unlimited") return {replay_rate::kind::unlimited, 0};
  auto text = whole;
  const auto value = take_number(text);
  if (!value || *value <= 0) refuse(whole, wanted);
  const auto bounded = [&](replay_rate::kind how, double per_second) {
    if (per_second < lowest_rate || per_second > highest_rate)
      refuse(whole, "a rate between 0.1 and 10^15 per second");
    return replay_rate{how, per_second};
  };
  if (text == "ev/s") return bounded(replay_rate::kind::events, *value);
  struct unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array<unit, 4> units{{{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}}};
  for (const auto& u : units)
    if (text == u.name) return bounded(replay_rate::kind::bits, *value * u.factor);
  refuse(whole, wanted);
}

double parse_probability(std::string_view whole) {
  auto text = whole;
  auto value = take_number(text);
  if (value && text == "%") {
    *value /= 100;
    text = {};
  } else if (value && text.empty() && *value >= 1) {
    throw std::invalid_argument(fmt::format(
        "{0} without a unit is not below 1: write 0.01 or 1% for one in a hundred, 100% "
        "for all",
        whole));
  }
  if (!value || !text.empty() || *value < 0 || *value > 1)
    refuse(whole, "a probability like 0.01 or 1%");
  return *value;
}

} // namespace l3
