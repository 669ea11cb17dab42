// SPDX-License-Identifier: Apache-2.0
// A block of width 1, and the loop that runs many of them on one CPU core: the inner loop of the
// serial and pool executors, and the production path of machines without a GPU.
//
// The compiler makes three forms of run_solo, for AVX-512, AVX2 and plain x86-64, and the dynamic
// linker selects the best one for the processor. `flatten` inlines the whole kernel, so that all of
// it is vectorised for that processor. Builds with assertions have one form, to compile quickly.
// Sanitizers do not support such indirect functions, and other compilers lack them: there it is an
// ordinary function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/executors/block.hpp"

namespace l3 {

class solo_block {
public:
  L3_FN explicit solo_block(std::uint32_t index) : index_(index) {}

  [[nodiscard]] L3_FN std::uint32_t index() const { return index_; }
  [[nodiscard]] L3_FN std::uint32_t threads() const { return 1; }
  [[nodiscard]] L3_FN std::uint32_t lane() const { return 0; }
  L3_FN void sync() const {}

  template <class F>
  L3_FN void for_each(std::uint32_t n, F&& f) const {
    for (std::uint32_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  L3_FN void for_each(std::uint32_t n, std::uint32_t m, F&& f) const {
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < m; ++j) f(i, j);
    }
  }

  void prefetch(const std::byte* p, std::uint32_t n) const {
    constexpr std::uint32_t cache_line = 64;
    for (std::uint32_t i = 0; i < n; i += cache_line) __builtin_prefetch(p + i);
  }

private:
  std::uint32_t index_;
};

/// Runs the blocks first … last − 1 of a kernel, in order.
template <class Kernel, class... Args>
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) &&     \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#ifdef _GLIBCXX_ASSERTIONS
__attribute__((flatten))
#else
__attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
void run_solo(Kernel kernel, std::uint32_t first, std::uint32_t last, Args... args) {
  for (std::uint32_t i = first; i < last; ++i) {
    typename Kernel::shared shared;
    kernel(solo_block(i), shared, args...);
  }
}

} // namespace l3
