// SPDX-License-Identifier: Apache-2.0
// Reading a value that nobody writes while the kernel runs. A device reads it through its
// non-coherent cache (ld.global.nc), which needs no agreement with the other processors; the host
// reads it as it reads anything. Only for global memory: not for a kernel's shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/format/function.hpp"

namespace l3 {

/// The largest unsigned word that a T consists of and that a device can load at once.
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
