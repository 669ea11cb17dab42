// SPDX-License-Identifier: Apache-2.0
#include "transport/format/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace l3 {

namespace {

// Polynomials over GF(2) in isa-l's representation: the highest bit is that of x^0.
constexpr std::uint32_t one = 1U << 31U;
constexpr std::uint32_t castagnoli = 0x82f63b78;

std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = one; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) sum ^= b;
    b = (b & 1U) != 0 ? (b >> 1U) ^ castagnoli : b >> 1U;
  }
  return sum;
}

} // namespace

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

/// A zero byte multiplies the state by x^8. Repeated squaring gives the power for `count` bytes.
std::uint32_t crc32c_of_zeros(std::uint64_t count, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  for (std::uint32_t factor = one >> 8U; count != 0; count >>= 1U) {
    if ((count & 1U) != 0) state = product(state, factor);
    factor = product(factor, factor);
  }
  return ~state;
}

} // namespace l3
