// SPDX-License-Identifier: Apache-2.0
// The networks that may send to an input (udp.allow and tcp.allow). The electronics cannot prove
// their identity, so the list only excludes stray senders and those that cannot forge an address.
// An empty list admits every source at no cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace l3 {

/// The 128 bits of an IPv6 address. An IPv4 address a.b.c.d is ::ffff:a.b.c.d, as in RFC 4291
/// (section 2.5.5.2) and as a dual-stack socket reports it.
struct ip_address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static constexpr std::uint64_t ipv4_prefix = 0xffff'0000'0000; ///< in `low`

  /// The number is in the host's byte order: 10.1.0.0 is 0x0a010000.
  [[nodiscard]] static constexpr ip_address ipv4(std::uint32_t number) {
    return {0, ipv4_prefix | number};
  }
  /// The bytes are in the network's order.
  [[nodiscard]] static constexpr ip_address ipv6(const std::array<std::uint8_t, 16>& bytes) {
    ip_address a;
    for (std::size_t n = 0; n < 8; ++n) {
      a.high = a.high << 8 | bytes[n];
      a.low = a.low << 8 | bytes[n + 8];
    }
    return a;
  }
  [[nodiscard]] constexpr bool is_ipv4() const { return high == 0 && low >> 32 == 0xffff; }

  friend bool operator==(const ip_address&, const ip_address&) = default;
};

struct source_network {
  ip_address address;
  ip_address mask{~0ULL, ~0ULL}; ///< the bits that count

  [[nodiscard]] bool holds(const ip_address& a) const {
    return (a.high & mask.high) == address.high && (a.low & mask.low) == address.low;
  }
  friend bool operator==(const source_network&, const source_network&) = default;
};

struct source_list {
  std::vector<source_network> networks;

  [[nodiscard]] bool takes_everybody() const { return networks.empty(); }
  [[nodiscard]] bool takes(const ip_address& address) const {
    return takes_everybody() || std::any_of(networks.begin(), networks.end(),
                                            [&](const auto& n) { return n.holds(address); });
  }
};

} // namespace l3
