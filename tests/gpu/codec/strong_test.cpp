// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/codec/koto.hpp"
#include "gpu/codec/strong_groups.hpp"
#include "gpu/codec/waveforms.hpp"
#include "tests/gpu/codec/codec_inputs.hpp"
#include "tests/gpu/decode/make_boards.hpp"
#include "transport/format/crc32c.hpp"

namespace l3::strong {

/// For GoogleTest.
void PrintTo(const group_codec& codec, std::ostream* out) { *out << codec.name; }

} // namespace l3::strong

namespace l3::test {
namespace {

using strong::group_codec;
using strong::shape;

bytes reference(const samples_type& samples, shape of) {
  bytes out(strong::max_encoded_bytes(samples.size() / strong::group_samples));
  std::size_t used = 0;
  for (std::size_t i = 0; i < samples.size(); i += strong::group_samples)
    used += strong::encode_group(samples.data() + i, of, out.data() + used);
  out.resize(used);
  return out;
}

bytes encode(const group_codec& codec, const samples_type& samples, shape of) {
  const auto in = exactly(samples.data(), samples.size());
  const std::size_t room = strong::max_encoded_bytes(samples.size() / strong::group_samples);
  bytes out(room + guard_size, guard);
  const std::size_t n = codec.encode({in.get(), samples.size()}, of, std::span(out).first(room));
  EXPECT_LE(n, room);
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(room), out.end(),
                          [](std::byte b) { return b == guard; }));
  out.resize(n);
  return out;
}

struct decoded {
  strong::decode_result result;
  samples_type samples; ///< those of the good groups
};

decoded decode(const group_codec& codec, const bytes& groups, shape of, std::size_t room) {
  const auto in = exactly(groups.data(), groups.size());
  const auto out = std::make_unique<std::uint16_t[]>(room * strong::group_samples);
  decoded d;
  d.result = codec.decode({in.get(), groups.size()}, of, {out.get(), room * strong::group_samples});
  EXPECT_LE(d.result.groups, room);
  EXPECT_LE(d.result.bytes, groups.size());
  d.samples.assign(out.get(), out.get() + d.result.groups * strong::group_samples);
  return d;
}

/// Baseline, noise of so many bits, here and there a pulse: what a digitizer gives.
samples_type make_noise(std::size_t groups, std::uint32_t bits, randomness& r) {
  samples_type all(groups * strong::group_samples);
  std::uint32_t baseline = 0;
  double pulse = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 64 == 0) baseline = below(r, 65536);
    if (below(r, 200) == 0) pulse = below(r, 4000);
    pulse *= 0.9;
    std::uint32_t noise = 0;
    for (int k = 0; k < 4; ++k) noise += below(r, 1U << bits);
    all[i] = static_cast<std::uint16_t>(baseline + noise / 2 + static_cast<std::uint32_t>(pulse));
  }
  return all;
}

/// All kinds of samples: of any range, noise, steps, the edges of 16 bits.
samples_type make_samples(std::size_t groups, randomness& r) {
  samples_type all;
  for (std::size_t g = 0; g < groups; ++g) {
    if (below(r, 2) == 0) {
      const auto noise = make_noise(1, below(r, 16), r);
      all.insert(all.end(), noise.begin(), noise.end());
      continue;
    }
    for (int k = 0; k < 16; ++k) {
      const std::uint32_t bits = below(r, 17);
      const std::uint32_t low = below(r, 65536U - (1U << bits) + 1);
      for (int i = 0; i < 64; ++i)
        all.push_back(static_cast<std::uint16_t>(low + below(r, 1U << bits)));
    }
  }
  return all;
}

/// Runs every case with every instruction set that this processor has.
class strong_groups : public testing::TestWithParam<group_codec> {};

void expect_round_trip(const group_codec& codec, const samples_type& samples, shape of) {
  const bytes expected = reference(samples, of);
  ASSERT_EQ(encode(codec, samples, of), expected);
  const auto d = decode(codec, expected, of, samples.size() / strong::group_samples);
  ASSERT_FALSE(d.result.damaged);
  ASSERT_EQ(d.result.bytes, expected.size());
  ASSERT_EQ(d.samples, samples);
}

constexpr shape shapes[] = {shape::short_ones, shape::long_ones};

TEST_P(strong_groups, any_samples_come_back) {
  randomness r(1);
  for (const shape of : shapes)
    for (std::size_t groups = 0; groups < 40; ++groups)
      expect_round_trip(GetParam(), make_samples(groups, r), of);
}

TEST_P(strong_groups, samples_of_one_kind_come_back) {
  randomness r(2);
  for (const shape of : shapes) {
    for (std::uint32_t bits = 0; bits < 16; ++bits)
      expect_round_trip(GetParam(), make_noise(5, bits, r), of);
    for (const std::uint32_t value : {0U, 1U, 0x7fffU, 0x8000U, 0xffffU})
      expect_round_trip(GetParam(), samples_type(3072, static_cast<std::uint16_t>(value)), of);
    samples_type edges(4096);
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = i % 3 == 0 ? 0xffff : 0;
    expect_round_trip(GetParam(), edges, of);
    for (std::size_t i = 0; i < edges.size(); ++i)
      edges[i] = i / 64 % 2 == 0 ? 0 : static_cast<std::uint16_t>(below(r, 65536));
    expect_round_trip(GetParam(), edges, of);
    // One sample far off in flat ones, at every place.
    for (std::size_t at = 0; at < strong::group_samples; at += 7) {
      samples_type flat(strong::group_samples, 700);
      flat[at] = static_cast<std::uint16_t>(below(r, 65536));
      expect_round_trip(GetParam(), flat, of);
    }
  }
}

TEST_P(strong_groups, nothing_grows_by_more_than_the_length) {
  randomness r(3);
  samples_type noise(8 * strong::group_samples);
  for (auto& x : noise) x = static_cast<std::uint16_t>(r());
  for (const shape of : shapes) {
    EXPECT_EQ(encode(GetParam(), noise, of).size(), 8U * strong::max_group_bytes);
    expect_round_trip(GetParam(), noise, of);
  }
}

TEST_P(strong_groups, says_where_the_input_is_cut_off) {
  randomness r(5);
  const auto samples = make_noise(3, 2, r);
  const bytes groups = reference(samples, shape::short_ones);
  std::size_t begin = 0; // where the group with the cut begins
  std::size_t whole = 0;
  for (std::size_t n = 0; n < groups.size(); ++n) {
    if (n == begin + strong::group_bytes(groups.data() + begin, groups.size() - begin)) {
      begin = n;
      ++whole;
    }
    const bytes cut(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(n));
    const auto d = decode(GetParam(), cut, shape::short_ones, 3);
    ASSERT_EQ(d.result.damaged, n != begin);
    ASSERT_EQ(d.result.groups, whole);
    ASSERT_EQ(d.result.bytes, begin);
    ASSERT_TRUE(std::equal(d.samples.begin(), d.samples.end(), samples.begin()));
  }
}

TEST_P(strong_groups, decodes_as_many_as_there_is_room_for) {
  randomness r(6);
  const auto samples = make_noise(12, 3, r);
  const bytes groups = reference(samples, shape::long_ones);
  for (std::size_t room = 0; room <= 12; ++room) {
    const auto d = decode(GetParam(), groups, shape::long_ones, room);
    ASSERT_FALSE(d.result.damaged);
    ASSERT_EQ(d.result.groups, room);
    ASSERT_TRUE(std::equal(d.samples.begin(), d.samples.end(), samples.begin()));
  }
}

TEST_P(strong_groups, a_wrong_byte_count_is_damage) {
  randomness r(7);
  const auto samples = make_noise(1, 3, r);
  for (const int change : {-2, -1, 1, 2}) {
    bytes group = reference(samples, shape::short_ones);
    group.resize(group.size() + 8);
    store(group.data(), static_cast<std::uint16_t>(load<std::uint16_t>(group.data()) + change));
    EXPECT_TRUE(decode(GetParam(), group, shape::short_ones, 1).result.damaged) << change;
  }
}

INSTANTIATE_TEST_SUITE_P(codec, strong_groups,
                         testing::ValuesIn(strong::group_codecs().begin(),
                                           strong::group_codecs().end()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(strong_codec, the_first_form_is_used_and_the_last_is_portable) {
  EXPECT_STREQ(strong::group_codecs().back().name, "portable");
  randomness r(9);
  const auto samples = make_samples(3, r);
  bytes out(strong::max_encoded_bytes(3));
  out.resize(strong::encode(samples, shape::short_ones, out));
  EXPECT_EQ(out, reference(samples, shape::short_ones));
  samples_type back(samples.size());
  EXPECT_EQ(strong::decode(out, shape::short_ones, back).groups, 3U);
  EXPECT_EQ(back, samples);
}

/// By the name of its file.
shape shape_of(const recording& r) {
  return r.name.ends_with("_256") ? shape::long_ones : shape::short_ones;
}

samples_type whole_groups(samples_type samples) {
  samples.resize(samples.size() / strong::group_samples * strong::group_samples);
  return samples;
}

TEST_P(strong_groups, recordings_come_back) {
  const auto all = recordings();
  if (all.empty()) GTEST_SKIP() << "KOTO_L3_WAVEFORMS does not name a folder of recordings";
  for (const auto& r : all) {
    SCOPED_TRACE(r.name);
    expect_round_trip(GetParam(), whole_groups(r.samples), shape_of(r));
  }
}

TEST(strong_codec, is_smaller_than_koto_records_on_recordings) {
  const auto all = recordings();
  if (all.empty()) GTEST_SKIP() << "KOTO_L3_WAVEFORMS does not name a folder of recordings";
  double sum = 0;
  int short_files = 0;
  for (const auto& r : all) {
    const auto samples = whole_groups(r.samples);
    bytes out(koto::max_packed_bytes(samples.size() / 64));
    const auto koto_bytes = static_cast<double>(koto::pack(samples, out));
    const double gain = koto_bytes / static_cast<double>(reference(samples, shape_of(r)).size());
    EXPECT_GE(gain, 1.10) << r.name;
    if (shape_of(r) == shape::long_ones) continue;
    sum += std::log(gain);
    ++short_files;
  }
  EXPECT_GE(std::exp(sum / short_files), 1.27);
}

// The bytes are a format: these must never change.
TEST(strong_codec, the_bytes_stay) {
  samples_type samples(4 * strong::group_samples);
  std::uint32_t x = 1;
  const auto random = [&](std::uint32_t n) {
    x = x * 1664525 + 1013904223;
    return (x >> 16) * n >> 16;
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint32_t pulse = i % 64 > 20 && i / 64 % 5 == 0 ? 3000U >> ((i % 64 - 20) / 4) : 0;
    samples[i] =
        static_cast<std::uint16_t>(500 + 37 * (i / 64 % 16) + random(9) + random(9) + pulse);
  }
  const bytes records = reference(samples, shape::short_ones);
  const bytes lanes = reference(samples, shape::long_ones);
  EXPECT_EQ(std::pair(records.size(), crc32c(records)), std::pair(std::size_t{2586}, 2542849419U));
  EXPECT_EQ(std::pair(lanes.size(), crc32c(lanes)), std::pair(std::size_t{2814}, 2467661212U));
}

// Wrong bits neither crash it nor harm the groups before them, and every form of the decoder takes
// the same groups for good.
TEST(strong_codec, groups_before_the_damage_come_back) {
  randomness r(8);
  for (int round = 0; round < 300; ++round) {
    const shape of = shapes[round % 2];
    const auto samples = make_noise(5, below(r, 8), r);
    bytes groups = reference(samples, of);
    std::size_t first = groups.size();
    for (std::uint32_t n = 1 + below(r, 6); n != 0; --n) {
      const std::size_t at = below(r, 2) == 0 ? below(r, 48) : r() % groups.size();
      groups[at] ^= static_cast<std::byte>(1U << below(r, 8));
      first = std::min(first, at);
    }
    std::size_t begin = 0;
    std::size_t good = 0;
    for (; good < 5; ++good) {
      const auto bytes = strong::group_bytes(groups.data() + begin, groups.size() - begin);
      if (begin + strong::length_bytes > first || begin + bytes > first) break;
      begin += bytes;
    }
    const auto d = decode(strong::group_codecs().back(), groups, of, 6);
    for (const group_codec& codec : strong::group_codecs()) {
      const auto other = decode(codec, groups, of, 6);
      ASSERT_EQ(other.result.groups, d.result.groups) << codec.name;
      ASSERT_EQ(other.result.bytes, d.result.bytes) << codec.name;
      ASSERT_EQ(other.result.damaged, d.result.damaged) << codec.name;
      ASSERT_EQ(other.samples, d.samples) << codec.name;
    }
    ASSERT_GE(d.result.groups, good);
    ASSERT_GE(d.result.bytes, begin);
    const auto end = static_cast<std::ptrdiff_t>(good * strong::group_samples);
    ASSERT_TRUE(std::equal(samples.begin(), samples.begin() + end, d.samples.begin()));
  }
}

/// What a calorimeter gives, made up: in each waveform a pedestal of its own and white noise of 1
/// to 3 counts rms, of a Gaussian form (the sum of twelve); in one of 20 a pulse of up to 500
/// counts.
samples_type make_quiet_noise(std::size_t groups, randomness& r) {
  samples_type all;
  for (std::size_t w = 0; w < groups * strong::group_records; ++w) {
    const double pedestal = 300 + below(r, 600);
    const double rms = 1 + below(r, 1000) / 500.0;
    const double height = below(r, 20) == 0 ? below(r, 500) : 0;
    for (int i = 0; i < 64; ++i) {
      double noise = -6;
      for (int k = 0; k < 12; ++k) noise += below(r, 65536) / 65536.0;
      const double from_peak = (i - 25) / 3.5;
      all.push_back(static_cast<std::uint16_t>(
          std::lround(pedestal + rms * noise + height * std::exp(-from_peak * from_peak / 2))));
    }
  }
  return all;
}

/// The bar of docs/performance.md, 1.27, is held by recordings, which a clean tree does not have.
/// This guards it where they are not: on these waveforms, of a fixed seed, the codec gave so much.
TEST(strong, makes_quiet_noise_as_short_as_it_did) {
  randomness r(19);
  const auto samples = make_quiet_noise(256, r);
  std::size_t records = 0;
  for (std::size_t at = 0; at < samples.size(); at += 64) {
    const auto [least, most] =
        std::minmax_element(samples.begin() + static_cast<std::ptrdiff_t>(at),
                            samples.begin() + static_cast<std::ptrdiff_t>(at + 64));
    records += koto::record_bytes(
        static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(*most - *least))));
  }
  const std::size_t bytes = reference(samples, shape::short_ones).size();
  EXPECT_GT(static_cast<double>(records) / static_cast<double>(bytes), 1.235);
}

} // namespace
} // namespace l3::test
