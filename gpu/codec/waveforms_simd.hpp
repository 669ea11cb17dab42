// SPDX-License-Identifier: Apache-2.0
// Common parts of packing and unpacking with vectors of 256 or 512 bits: the layout of a waveform
// in vectors, and the prefetch distance. Like the two headers that include it, it is compiled once
// for each instruction set, hence the toggling guard.
#if defined(L3_WAVEFORMS_SIMD) == defined(HWY_TARGET_TOGGLE)
#ifdef L3_WAVEFORMS_SIMD
#undef L3_WAVEFORMS_SIMD
#else
#define L3_WAVEFORMS_SIMD
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "gpu/codec/koto.hpp"

HWY_BEFORE_NAMESPACE();
namespace l3::koto {
namespace HWY_NAMESPACE {

#if HWY_TARGET & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<std::uint16_t> d16;
constexpr hn::ScalableTag<std::uint32_t> d32;
constexpr hn::ScalableTag<std::uint64_t> d64;
using vector16 = hn::Vec<decltype(d16)>;
using vector64 = hn::Vec<decltype(d64)>;
constexpr std::size_t vector_samples = hn::MaxLanes(d16);
constexpr std::size_t vectors = record_samples / vector_samples;
constexpr std::size_t vector_octets = vector_samples / 8;

// The prefetch distances. With data in memory, packing gains 40 % by prefetching and unpacking 25
// %; with data in caches it costs nothing (docs/performance.md).
constexpr std::size_t ahead_reading = 4096;
constexpr std::size_t ahead_writing = 2048;
constexpr std::size_t cache_line = 64;

/// Prefetches the cache lines of `bytes` bytes, `ahead` bytes after p. A prefetch is no access, so
/// its address may be beyond a buffer.
template <bool Writing>
HWY_INLINE void prefetch(const void* p, std::size_t ahead, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(p) + ahead;
  for (std::size_t i = 0; i < bytes; i += cache_line) {
    __builtin_prefetch(reinterpret_cast<const void*>(from + i), Writing ? 1 : 0);
  }
}

#endif

} // namespace HWY_NAMESPACE
} // namespace l3::koto
HWY_AFTER_NAMESPACE();

#endif
