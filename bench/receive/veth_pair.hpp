// SPDX-License-Identifier: Apache-2.0
// A virtual cable in a network namespace of its own, for benches that need a network interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace l3::bench {

/// The calling thread lives in the namespace from then on, and the namespace goes with the last
/// thread that lives there: make it in a thread of its own.
class veth_pair {
public:
  static constexpr const char* near = "l3near"; ///< where frames are put in
  static constexpr const char* far = "l3far";   ///< where they come out

  /// Throws std::runtime_error that says what does not work here: it needs root and `ip`.
  explicit veth_pair(std::uint32_t mtu);

  [[nodiscard]] static std::uint32_t index_of(const char* interface);
  /// An Ethernet frame with a UDP datagram from nowhere to a port of `far`.
  [[nodiscard]] static std::vector<std::byte> frame(std::uint16_t port, std::size_t payload);

  static constexpr const char* far_address = "10.78.0.2";
};

} // namespace l3::bench
