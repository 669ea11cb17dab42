// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction set at run time. foreach_target.h includes this file once for each set,
// and so compiles waveforms_pack_simd.hpp and waveforms_unpack_simd.hpp for each.
#include "gpu/codec/waveforms.hpp"

#include <vector>

#include "gpu/codec/instruction_sets.hpp"

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
  // A compiler that cannot generate code for one of them leaves null.
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

unpack_result unpack(std::span<const std::byte> records, std::span<std::uint16_t> samples,
                     store_to where) {
  return waveform_codecs().front().unpack(records, samples, where);
}

std::span<const waveform_codec> waveform_codecs() {
  static const std::vector<waveform_codec> codecs = codecs_of_this_processor();
  return codecs;
}

} // namespace l3::koto
#endif
