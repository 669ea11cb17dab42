// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction set at run time, like waveforms.cpp.
#include "gpu/codec/strong_groups.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/codec/instruction_sets.hpp"

#define HWY_WANT_AVX3_DL                            // for AMD's processors
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4) // they lack shifts by lane: portable form
#define HWY_TARGET_INCLUDE "gpu/codec/strong_groups.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <hwy/highway.h>

#include "gpu/codec/strong_decode_simd.hpp"
#include "gpu/codec/strong_encode_simd.hpp"

#if HWY_ONCE
namespace l3::strong {
namespace {

std::vector<group_codec> codecs_of_this_processor() {
  std::vector<group_codec> all;
#if HWY_ARCH_X86
  if (has_avx512_vbmi() && __builtin_cpu_is("amd") != 0)
    all.push_back(
        {"avx512_amd", HWY_CHOOSE_AVX3_DL(encode_groups), HWY_CHOOSE_AVX3_DL(decode_groups)});
  if (has_avx512())
    all.push_back({"avx512", HWY_CHOOSE_AVX3(encode_groups), HWY_CHOOSE_AVX3(decode_groups)});
  if (has_avx2())
    all.push_back({"avx2", HWY_CHOOSE_AVX2(encode_groups), HWY_CHOOSE_AVX2(decode_groups)});
  // A compiler that cannot generate code for one of them leaves null.
  std::erase_if(all, [](const group_codec& c) { return c.encode == nullptr; });
#endif
  all.push_back(
      {"portable", HWY_CHOOSE_FALLBACK(encode_groups), HWY_CHOOSE_FALLBACK(decode_groups)});
  return all;
}

} // namespace

void fill_up(std::span<std::uint16_t> groups, std::size_t given) {
  for (std::size_t i = given; i < groups.size(); ++i) groups[i] = groups[i - record_samples];
}

std::size_t encode(std::span<const std::uint16_t> samples, shape of, std::span<std::byte> out) {
  return group_codecs().front().encode(samples, of, out);
}

decode_result decode(std::span<const std::byte> groups, shape of,
                     std::span<std::uint16_t> samples) {
  return group_codecs().front().decode(groups, of, samples);
}

std::span<const group_codec> group_codecs() {
  static const std::vector<group_codec> codecs = codecs_of_this_processor();
  return codecs;
}

} // namespace l3::strong
#endif
