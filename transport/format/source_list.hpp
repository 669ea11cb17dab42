// SPDX-License-Identifier: Apache-2.0
// Which machines may send to an input: IPv4 networks, by udp.allow and tcp.allow. The electronics
// cannot prove who they are, so the list keeps out stray senders and those that cannot forge an
// address. An empty list admits every source, and costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace l3 {

struct source_network {
  std::uint32_t address = 0; ///< in the host's byte order; 10.1.0.0 is 0x0a010000
  std::uint32_t mask = ~0U;  ///< the bits that count

  friend bool operator==(const source_network&, const source_network&) = default;
};

struct source_list {
  std::vector<source_network> networks;

  [[nodiscard]] bool takes_everybody() const { return networks.empty(); }
  [[nodiscard]] bool takes(std::uint32_t address) const {
    return takes_everybody() ||
           std::any_of(networks.begin(), networks.end(),
                       [&](const source_network& n) { return (address & n.mask) == n.address; });
  }
};

} // namespace l3
