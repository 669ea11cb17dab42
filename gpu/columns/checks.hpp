// SPDX-License-Identifier: Apache-2.0
// Range checks of columns. If they are on, an index beyond the end throws std::out_of_range on the
// host and stops the kernel (trap) on a device; if they are off, they cost nothing. The declaration
// of a layout switches them on or off. By default they are on where the standard library checks its
// containers too: in all builds except the optimised one.
//
// A checked column has the same members as an unchecked one, so that sources compiled with and
// without checks can pass columns to each other.
#pragma once

#include <cstdint>
#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include <stdexcept>
#include <string>
#endif

#include "transport/format/function.hpp"

namespace l3 {

enum class range_checks : bool { off, on };

#ifdef _GLIBCXX_ASSERTIONS
inline constexpr range_checks default_range_checks = range_checks::on;
#else
inline constexpr range_checks default_range_checks = range_checks::off;
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

template <range_checks Checks>
L3_FN constexpr void check_index(const char* what, std::uint32_t i, std::uint32_t n) {
  if constexpr (Checks == range_checks::on) {
    if (i >= n) fail_range(what, i, n);
  }
}

} // namespace l3
