// SPDX-License-Identifier: Apache-2.0
// Counts and finds bits, on the host and on devices. Device code cannot call the functions of
// <bit>.
#pragma once

#include <bit>
#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// The number of bits that are 1.
[[nodiscard]] L3_FN inline std::uint32_t ones(std::uint32_t word) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}

/// The number of bits up to the highest 1.
[[nodiscard]] L3_FN inline std::uint32_t bits_used(std::uint32_t word) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return 32 - static_cast<std::uint32_t>(__clz(static_cast<int>(word)));
#else
  return static_cast<std::uint32_t>(std::bit_width(word));
#endif
}

/// The index of the lowest 1 bit of a word that is not 0.
[[nodiscard]] L3_FN inline std::uint32_t lowest_one(std::uint32_t word) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(word))) - 1;
#else
  return static_cast<std::uint32_t>(std::countr_zero(word));
#endif
}

} // namespace l3
