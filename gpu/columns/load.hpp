// SPDX-License-Identifier: Apache-2.0
// Reads a value of global memory that does not change while the kernel runs. A device loads it
// through its non-coherent cache (ld.global.nc), which its multiprocessors do not keep consistent;
// the host uses a normal load. Not for the shared memory of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/format/function.hpp"

namespace l3 {

/// The largest unsigned word that divides a T and that a device loads by one instruction.
template <class T>
using load_word = std::conditional_t<
    alignof(T) % 8 == 0, unsigned long long,
    std::conditional_t<alignof(T) % 4 == 0, unsigned int,
                       std::conditional_t<alignof(T) % 2 == 0, unsigned short, unsigned char>>>;

template <class T>
[[nodiscard]] L3_FN inline T load_constant(const T* p) {
  static_assert(std::is_trivially_copyable_v<T>);
#ifdef __CUDA_ARCH__
  using word = load_word<T>;
  static_assert(sizeof(T) % sizeof(word) == 0);
  word words[sizeof(T) / sizeof(word)];
  for (std::size_t k = 0; k < sizeof(T) / sizeof(word); ++k) {
    words[k] = __ldg(reinterpret_cast<const word*>(p) + k);
  }
  T value;
  memcpy(&value, words, sizeof value);
  return value;
#else
  return *p;
#endif
}

} // namespace l3
