// SPDX-License-Identifier: Apache-2.0
// Range checks of columns. They are on where the standard library checks its containers too: in all
// builds but the optimised one. An index beyond the end then throws std::out_of_range on the host
// and stops the kernel (trap) on a device. Switched off, they cost nothing.
#pragma once

#include <cstdint>
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include <stdexcept>
#include <string>
#endif

#include "transport/format/function.hpp"

namespace l3 {

#ifdef _GLIBCXX_ASSERTIONS
inline constexpr bool columns_are_checked = true;
#else
inline constexpr bool columns_are_checked = false;
#endif

/// Reports that `value` is beyond `limit`; does not return.
L3_FN inline void fail_range(const char* what, std::uint64_t value, std::uint64_t limit) {
#if defined(__CUDA_ARCH__)
  static_cast<void>(what), static_cast<void>(value), static_cast<void>(limit);
  __trap();
#elif defined(__HIP_DEVICE_COMPILE__)
  static_cast<void>(what), static_cast<void>(value), static_cast<void>(limit);
  __builtin_trap();
#else
  throw std::out_of_range(std::string(what) + ": " + std::to_string(value) + " of " +
                          std::to_string(limit));
#endif
}

L3_FN constexpr void check_index(const char* what, std::uint32_t i, std::uint32_t n) {
  if constexpr (columns_are_checked) {
    if (i >= n) fail_range(what, i, n);
  }
}

} // namespace l3
