// SPDX-License-Identifier: Apache-2.0
// What `koto-l3-bench codecs` compares: every codec gives back its input, and limits are reckoned
// from what they say.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/codec/codec_comparison.hpp"
#include "bench/codec/codec_entrants.hpp"
#include "bench/codec/codec_limits.hpp"
#include "bench/codec/waveform_mix.hpp"

namespace {

using namespace l3;
using namespace l3::bench;

std::vector<general_codec> all_codecs(std::uint32_t samples) {
  auto all = own_codecs(samples);
  std::ranges::move(general_codecs(codec_set::wide), std::back_inserter(all));
  return all;
}

bool all_right(std::span<const std::uint16_t> samples, std::span<const general_codec> codecs) {
  for (const auto direction : {codec_direction::pack, codec_direction::unpack}) {
    const auto entrants = codec_entrants(direction, samples, codecs);
    for (const timing& t : measure(entrants_of(entrants), {1}))
      if (!t.right) return false;
  }
  return true;
}

TEST(codec_comparison, has_each_codec_give_back_any_number_of_waveforms_and_any_samples) {
  auto samples = made_up_waveforms(40);
  std::mt19937 random(1);
  for (std::size_t i = samples.size() / 2; i < samples.size(); ++i)
    samples[i] = static_cast<std::uint16_t>(random());
  for (const std::uint32_t per_waveform : {64U, 128U})
    for (const general_codec& c : all_codecs(per_waveform))
      for (const std::size_t waveforms : {1U, 15U, 16U, 17U, 20U})
        EXPECT_TRUE(all_right(
            std::span(samples).subspan((20 - waveforms) * per_waveform,
                                       std::min<std::size_t>(waveforms * per_waveform, 1280)),
            std::span(&c, 1)))
            << c.name << ", " << waveforms << " of " << per_waveform;
}

TEST(codec_comparison, knows_a_codec_that_gives_back_something_else) {
  const auto samples = made_up_waveforms(16);
  for (const general_codec& good : all_codecs(64)) {
    auto bad = good;
    bad.decompress = [good](std::span<const std::byte> in, std::span<std::byte> out) {
      const std::size_t n = good.decompress(in, out);
      out[n / 2] ^= std::byte{64}; // n / 2 is even: more than any error
      return n;
    };
    EXPECT_FALSE(all_right(samples, std::span(&bad, 1))) << good.name;
    bad.decompress = [](std::span<const std::byte>, std::span<std::byte>) {
      return std::size_t{0};
    };
    EXPECT_FALSE(all_right(samples, std::span(&bad, 1))) << good.name;
  }
}

/// Waveforms of 64 samples that are noise of `sigma` counts about 1000.
std::vector<std::uint16_t> noise(double sigma) {
  std::mt19937 random(1);
  std::normal_distribution<double> gauss(1000, sigma);
  std::vector<std::uint16_t> all(64 * 4000);
  for (std::uint16_t& x : all) x = static_cast<std::uint16_t>(std::lround(gauss(random)));
  return all;
}

/// Bits a sample that noise of `sigma` counts takes at least.
double bits_of(double sigma) { return std::log2(sigma * std::sqrt(2 * M_PI * M_E)); }

double bits_a_sample(const codec_limit& l, std::size_t samples) {
  return l.bytes * 8 / static_cast<double>(samples);
}

TEST(codec_limits, are_those_of_noise) {
  for (const double sigma : {2.0, 8.0, 30.0}) {
    const auto samples = noise(sigma);
    const auto entropy = entropy_limit(samples, 64);
    // The mean of four leaves noise that is wider by the root of 5/4.
    EXPECT_EQ(entropy.what, "limit: entropy behind mean of four");
    EXPECT_NEAR(bits_a_sample(entropy, samples.size()), bits_of(sigma * std::sqrt(1.25)), 0.04);
    // No code is shorter than the noise; this one has to learn it.
    const double adaptive = bits_a_sample(adaptive_limit(samples, 64), samples.size());
    EXPECT_GT(adaptive, bits_of(sigma));
    EXPECT_LT(adaptive, bits_of(sigma) + 0.2);
  }
}

TEST(codec_limits, take_the_predictor_that_fits) {
  std::vector<std::uint16_t> ramps(64 * 100);
  for (std::size_t i = 0; i < ramps.size(); ++i)
    ramps[i] = static_cast<std::uint16_t>(500 + i % 64 * (i / 64 + 1));
  EXPECT_EQ(entropy_limit(ramps, 64).what, "limit: entropy behind line through two");
  const std::vector<std::uint16_t> flat(64 * 100, 1234);
  EXPECT_LT(bits_a_sample(entropy_limit(flat, 64), flat.size()), 0.01);
  EXPECT_LT(bits_a_sample(adaptive_limit(flat, 64), flat.size()), 0.02);
}

} // namespace
