// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of every header, record and block of koto-l3. It chains: the
// checksum of two pieces is that of the second, with that of the first as `previous`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace l3 {

/// Uses the standard initial value and final xor: 0xE3069283 for the ASCII characters 123456789.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);

/// The checksum of a header that ends in its own CRC-32C: it covers all bytes before the last four.
template <class Header>
[[nodiscard]] std::uint32_t header_crc(const Header& h) {
  return crc32c(std::as_bytes(std::span(&h, 1)).first(sizeof(Header) - sizeof(std::uint32_t)));
}

} // namespace l3
