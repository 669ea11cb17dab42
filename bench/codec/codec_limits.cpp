// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/codec_limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace l3::bench {
namespace {

constexpr std::size_t values = 1 << 16; // of a sample, and of a residual modulo 2^16
constexpr double bits_of_byte = 8;

using counts = std::vector<std::uint32_t>;
using waveform = std::span<const std::uint16_t>;

constexpr std::size_t predictors = 4;
/// Each predictor's prediction of sample `i`, i > 0. The first means have fewer samples.
std::array<double, predictors> predict(waveform w, std::size_t i) {
  const double last = w[i - 1];
  const double before = w[i - (i > 1 ? 2 : 1)];
  double four = 0;
  const std::size_t n = std::min<std::size_t>(i, 4);
  for (std::size_t k = 1; k <= n; ++k) four += w[i - k];
  return {last, (last + before) / 2, four / static_cast<double>(n), 2 * last - before};
}

std::uint16_t residual(std::uint16_t x, double prediction) {
  return static_cast<std::uint16_t>(x - std::lround(prediction));
}

/// Entropy in bits of all counts.
double entropy(const counts& of) {
  double total = 0;
  double bits = 0;
  for (const std::uint32_t n : of) {
    if (n == 0) continue;
    total += n;
    bits -= n * std::log2(static_cast<double>(n));
  }
  return total == 0 ? 0 : bits + total * std::log2(total);
}

} // namespace

double entropy_limit(std::span<const std::uint16_t> samples, std::uint32_t per_waveform) {
  counts first(values);
  std::array<counts, predictors> rest;
  rest.fill(counts(values));
  std::uint16_t before = 0;
  for (std::size_t at = 0; at < samples.size(); at += per_waveform) {
    const waveform w = samples.subspan(at, per_waveform);
    ++first[residual(w[0], before)];
    before = w[0];
    for (std::size_t i = 1; i < w.size(); ++i) {
      const auto p = predict(w, i);
      for (std::size_t k = 0; k < predictors; ++k) ++rest[k][residual(w[i], p[k])];
    }
  }
  std::array<double, predictors> bits{};
  std::ranges::transform(rest, bits.begin(), entropy);
  return (std::ranges::min(bits) + entropy(first)) / bits_of_byte;
}

} // namespace l3::bench
