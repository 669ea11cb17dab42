// SPDX-License-Identifier: Apache-2.0
// A copy whose stores bypass the caches. memcpy does so only for far more bytes than a bench copies
// at a time. From memory it is the faster of the two, in caches the slower; a bench with only one
// of them would favour what it compares.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace l3::bench {

#ifdef __SSE2__
inline constexpr bool has_streaming_copy = true;

/// Copies as many bytes as both have, in whole blocks of 64; `to` is aligned to 16.
inline void streaming_copy(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t block = 64;
  for (std::size_t at = 0; at + block <= from.size() && at + block <= to.size(); at += block) {
    const auto* const in = reinterpret_cast<const __m128i*>(from.data() + at);
    auto* const out = reinterpret_cast<__m128i*>(to.data() + at);
    for (std::size_t i = 0; i < block / sizeof(__m128i); ++i) {
      _mm_stream_si128(out + i, _mm_loadu_si128(in + i));
    }
  }
  _mm_sfence();
}
#else
inline constexpr bool has_streaming_copy = false;

inline void streaming_copy(std::span<const std::byte> from, std::span<std::byte> to) {
  std::memcpy(to.data(), from.data(), from.size());
}
#endif

} // namespace l3::bench
