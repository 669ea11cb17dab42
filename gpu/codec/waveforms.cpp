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

HWY_EXPORT(pack_waveforms);
HWY_EXPORT(unpack_waveforms);

const char* name_of(std::int64_t target) {
  switch (target) {
  case HWY_AVX3_DL: return "avx512-vbmi";
  case HWY_AVX3: return "avx512";
  case HWY_AVX2: return "avx2";
  default: return "portable";
  }
}

} // namespace

std::size_t pack(std::span<const std::uint16_t> samples, std::span<std::byte> out) {
  return HWY_DYNAMIC_DISPATCH(pack_waveforms)(samples, out);
}

unpack_result unpack(std::span<const std::byte> records, std::span<std::uint16_t> samples) {
  return HWY_DYNAMIC_DISPATCH(unpack_waveforms)(records, samples);
}

std::span<const waveform_codec> waveform_codecs() {
  static const std::vector<waveform_codec> codecs = [] {
    std::vector<waveform_codec> all;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::ChosenTarget chosen;
      chosen.Update(target);
      all.push_back({name_of(target), HWY_DISPATCH_TABLE(pack_waveforms)[chosen.GetIndex()],
                     HWY_DISPATCH_TABLE(unpack_waveforms)[chosen.GetIndex()]});
    }
    return all;
  }();
  return codecs;
}

} // namespace l3::koto
#endif
