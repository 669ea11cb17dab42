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
constexpr std::array<const char*, predictors> names{"last sample", "mean of two", "mean of four",
                                                    "line through two"};
/// What each predictor says of sample `i`, i > 0. The first means are of fewer samples: there are
/// no more.
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

/// In bits, for all that was counted.
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

/// Recursive least squares: the next sample's distance to a level from the last six distances.
class least_squares {
public:
  static constexpr std::size_t taps = 6;
  using vector = std::array<double, taps>;

  least_squares() {
    for (std::size_t i = 0; i < taps; ++i) inverse_[i][i] = 1;
    weights_[0] = 0.5; // NOLINT: between a level and the last sample
  }

  [[nodiscard]] double predict(const vector& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < taps; ++i) sum += weights_[i] * x[i];
    return sum;
  }

  /// `size` is how large residuals are now: samples of pulses weigh less.
  void learn(const vector& x, double y, double size) {
    constexpr double keep = 0.9995;
    const double scale = 1 / (size + 1);
    vector gain{};
    double all = keep;
    for (std::size_t i = 0; i < taps; ++i) {
      for (std::size_t j = 0; j < taps; ++j) gain[i] += inverse_[i][j] * x[j] * scale;
      all += gain[i] * x[i] * scale;
    }
    const double error = (y - predict(x)) * scale;
    for (std::size_t i = 0; i < taps; ++i) weights_[i] += gain[i] / all * error;
    for (std::size_t i = 0; i < taps; ++i)
      for (std::size_t j = i; j < taps; ++j)
        inverse_[i][j] = inverse_[j][i] = (inverse_[i][j] - gain[i] * gain[j] / all) / keep;
    // Flat waveforms teach nothing, and the matrix would grow without an end.
    constexpr double most = 1e6;
    for (std::size_t i = 0; i < taps; ++i) {
      if (inverse_[i][i] < most) continue;
      inverse_ = {};
      for (std::size_t j = 0; j < taps; ++j) inverse_[j][j] = 1;
      break;
    }
  }

private:
  vector weights_{};
  std::array<vector, taps> inverse_{};
};

/// What was seen, and so how likely each residual is.
class residual_counts {
public:
  /// The length of the code of `r` in the context; then it has been seen.
  double bits_and_learn(std::uint16_t r, std::size_t context) {
    constexpr double weight_of_all = 24; // how much seen residuals in a context have to outweigh
    const double flat = 1.0 / values;
    const double of_all = (all_[r] + flat * 2) / (all_seen_ + 2);
    const double p = (of_[context][r] + weight_of_all * of_all) / (seen_[context] + weight_of_all);
    ++all_[r], ++of_[context][r];
    ++all_seen_, ++seen_[context];
    return -std::log2(p);
  }

  static constexpr std::size_t contexts = 48;

private:
  counts all_ = counts(values);
  std::vector<counts> of_ = std::vector<counts>(contexts, counts(values));
  double all_seen_ = 0;
  std::array<double, contexts> seen_{};
};

/// Half octaves of the mean residual.
std::size_t context_of(double mean) {
  const double half_octaves = 2 * std::log2(mean + 1.0 / 16) + 8;
  return static_cast<std::size_t>(
      std::clamp(half_octaves, 0.0, static_cast<double>(residual_counts::contexts - 1)));
}

class adaptive_model {
public:
  /// The length of the code of a waveform's samples but the first, in bits.
  double code(waveform w) {
    constexpr std::size_t blended = predictors + 2;
    double level = w[0];
    std::array<double, blended> error;
    error.fill(start_);
    double fast = start_;
    double slow = start_;
    double bits = 0;
    for (std::size_t i = 1; i < w.size(); ++i) {
      least_squares::vector past{};
      for (std::size_t k = 0; k < past.size(); ++k) past[k] = w[i > k ? i - 1 - k : 0] - level;
      std::array<double, blended> p{};
      std::ranges::copy(predict(w, i), p.begin());
      p[predictors] = level;
      p[predictors + 1] = level + filter_.predict(past);
      double sum = 0;
      double weights = 0;
      for (std::size_t k = 0; k < blended; ++k) {
        const double e = error[k] + 0.05;
        const double weight = 1 / (e * e * e * e);
        sum += weight * p[k];
        weights += weight;
      }
      const double best = std::clamp(sum / weights, 0.0, static_cast<double>(values - 1));
      bits += counts_.bits_and_learn(residual(w[i], best), context_of((fast + slow) / 2));

      const double size = std::abs(w[i] - best);
      filter_.learn(past, w[i] - level, slow);
      for (std::size_t k = 0; k < blended; ++k)
        error[k] += (std::abs(w[i] - p[k]) - error[k]) /
                    static_cast<double>(std::min<std::size_t>(i + 2, 20));
      fast += (size - fast) / 5;
      slow += (size - slow) / static_cast<double>(std::min<std::size_t>(i + 8, 40));
      level += (w[i] - level) / static_cast<double>(std::min<std::size_t>(i + 1, 16));
    }
    start_ += (std::min(slow, 4 * start_ + 1) - start_) / 16; // of the next waveform
    return bits;
  }

private:
  least_squares filter_;
  residual_counts counts_;
  double start_ = 2;
};

} // namespace

codec_limit entropy_limit(std::span<const std::uint16_t> samples, std::uint32_t per_waveform) {
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
  const auto best = static_cast<std::size_t>(std::ranges::min_element(bits) - bits.begin());
  return {std::string("limit: entropy behind ") + names[best],
          (bits[best] + entropy(first)) / bits_of_byte};
}

codec_limit adaptive_limit(std::span<const std::uint16_t> samples, std::uint32_t per_waveform) {
  residual_counts first;
  adaptive_model rest;
  double bits = 0;
  std::uint16_t before = 0;
  for (std::size_t at = 0; at < samples.size(); at += per_waveform) {
    const waveform w = samples.subspan(at, per_waveform);
    bits += first.bits_and_learn(residual(w[0], before), 0);
    before = w[0];
    bits += rest.code(w);
  }
  return {"limit: adaptive arithmetic code", bits / bits_of_byte};
}

} // namespace l3::bench
