// SPDX-License-Identifier: Apache-2.0
#include "transport/format/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace l3 {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  // isa-l leaves the initial value and the final xor to the caller, counts in int, and lacks a
  // const.
  constexpr std::size_t longest = 1U << 30;
  std::uint32_t state = ~previous;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), longest));
    auto* const address =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(part.data()));
    state = crc32_iscsi(address, static_cast<int>(part.size()), state);
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

} // namespace l3
