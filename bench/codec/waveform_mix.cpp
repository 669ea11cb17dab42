// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/waveform_mix.hpp"

#include <array>
#include <cmath>
#include <random>

#include "gpu/codec/koto.hpp"

namespace l3::bench {
namespace {

constexpr std::size_t length = koto::record_samples;

// Number of waveforms in 100 with N = 2, 3, …, 14: about the ratio of recordings, with more large
// pulses than most of them.
constexpr std::array<std::uint32_t, 13> percent_from_2{5, 20, 30, 15, 8, 5, 4, 3, 3, 2, 2, 2, 1};
constexpr std::uint32_t largest_noise = 6; // larger values are pulses

using randomness = std::mt19937_64;

std::uint32_t below(randomness& r, std::uint32_t n) { return static_cast<std::uint32_t>(r() % n); }

std::uint32_t draw_n(randomness& r) {
  std::uint32_t ticket = below(r, 100);
  for (std::uint32_t i = 0; i < percent_from_2.size(); ++i) {
    if (ticket < percent_from_2[i]) return i + 2;
    ticket -= percent_from_2[i];
  }
  return 2;
}

void make_noise(std::uint16_t* samples, std::uint32_t bits, randomness& r) {
  const std::uint32_t pedestal = 200 + below(r, 1000);
  const std::uint32_t range = (1U << bits) - 1;
  for (std::size_t i = 0; i < length; ++i) {
    // The sum of two draws, similar to a Gaussian.
    const std::uint32_t v = (below(r, range + 1) + below(r, range + 1) + 1) / 2;
    samples[i] = static_cast<std::uint16_t>(pedestal + v);
  }
  const std::uint32_t lowest = below(r, length);
  samples[lowest] = static_cast<std::uint16_t>(pedestal);
  samples[(lowest + 1 + below(r, length - 1)) % length] =
      static_cast<std::uint16_t>(pedestal + range);
}

/// A pulse with a rise of a few samples and a slow decay, on noise of two bits.
void make_pulse(std::uint16_t* samples, std::uint32_t bits, randomness& r) {
  const std::uint32_t pedestal = 200 + below(r, 1000);
  const double height = (1U << (bits - 1)) * (1.1 + 0.8 * (below(r, 1000) / 1000.0));
  const double begin = 8 + below(r, 24);
  constexpr double rise = 3, decay = 9;
  // The maximum of a pulse with these times.
  const double peak = std::pow(rise / (rise + decay), rise / decay) * decay / (rise + decay);
  for (std::size_t i = 0; i < length; ++i) {
    const double t = static_cast<double>(i) - begin;
    const double v = t < 0 ? 0 : height / peak * (1 - std::exp(-t / rise)) * std::exp(-t / decay);
    samples[i] = static_cast<std::uint16_t>(pedestal + std::lround(v) + below(r, 4));
  }
}

} // namespace

std::vector<std::uint16_t> made_up_waveforms(std::size_t waveforms) {
  randomness r(1);
  std::vector<std::uint16_t> all(waveforms * length);
  for (std::size_t w = 0; w < waveforms; ++w) {
    const std::uint32_t bits = draw_n(r);
    (bits <= largest_noise ? make_noise : make_pulse)(all.data() + w * length, bits, r);
  }
  return all;
}

} // namespace l3::bench
