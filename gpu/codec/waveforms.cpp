// SPDX-License-Identifier: Apache-2.0
// Chooses between instruction sets when the program runs. foreach_target.h includes this file once
// for each set, and so compiles waveforms_pack_simd.hpp and waveforms_unpack_simd.hpp for each.
#include "gpu/codec/waveforms.hpp"

#include <vector>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4) // they lack shifts by lane: portable form
#define HWY_WANT_AVX3_DL // Ice Lake, Zen 4 and later permute bytes across a whole register
#define HWY_TARGET_INCLUDE "gpu/codec/waveforms.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <hwy/highway.h>

#include "gpu/codec/waveforms_pack_simd.hpp"
#include "gpu/codec/waveforms_unpack_simd.hpp"

#if HWY_ONCE
namespace l3::koto {
namespace {

// The compiler's functions ask the processor. Highway has one as well, but its library also times
// the processor's clock when a program starts, which took a third of that start.
#if HWY_ARCH_X86
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0;
}

bool has_avx512_vbmi() {
  return has_avx512() && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("avx512vnni") != 0 &&
         __builtin_cpu_supports("avx512bitalg") != 0 &&
         __builtin_cpu_supports("avx512vpopcntdq") != 0 && __builtin_cpu_supports("gfni") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}
#endif

std::vector<waveform_codec> codecs_of_this_processor() {
  std::vector<waveform_codec> all;
#if HWY_ARCH_X86
  if (has_avx512_vbmi())
    all.push_back(
        {"avx512-vbmi", HWY_CHOOSE_AVX3_DL(pack_waveforms), HWY_CHOOSE_AVX3_DL(unpack_waveforms)});
  if (has_avx512())
    all.push_back({"avx512", HWY_CHOOSE_AVX3(pack_waveforms), HWY_CHOOSE_AVX3(unpack_waveforms)});
  if (has_avx2())
    all.push_back({"avx2", HWY_CHOOSE_AVX2(pack_waveforms), HWY_CHOOSE_AVX2(unpack_waveforms)});
  // A compiler that cannot make code for one of them leaves null behind.
  std::erase_if(all, [](const waveform_codec& c) { return c.pack == nullptr; });
#endif
  all.push_back(
      {"portable", HWY_CHOOSE_FALLBACK(pack_waveforms), HWY_CHOOSE_FALLBACK(unpack_waveforms)});
  return all;
}

} // namespace

std::size_t pack(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  return waveform_codecs().front().pack(samples, out);
}

unpack_result unpack(std::span<const std::byte> records, std::span<std::uint16_t> samples) {
  return waveform_codecs().front().unpack(records, samples);
}

std::span<const waveform_codec> waveform_codecs() {
  static const std::vector<waveform_codec> codecs = codecs_of_this_processor();
  return codecs;
}

} // namespace l3::koto
#endif
