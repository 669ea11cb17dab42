// SPDX-License-Identifier: Apache-2.0
// What a lane of the strong codec knows of its waveform: the last samples, how wrong three
// predictors were, and how large the residuals are. Encoder and decoder keep the same model, so no
// byte is spent on it. It uses whole numbers only; samples are counted from the waveform's first.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/codec/strong_tables.hpp"
#include "transport/format/function.hpp"

namespace l3::strong {

inline constexpr std::uint32_t record_samples = 64;
inline constexpr std::uint32_t group_records = 16;
inline constexpr std::uint32_t taps = 4;

/// What the encoder finds for a group and writes into its head.
struct choice {
  std::int32_t filter[taps] = {}; // −64 … 63, in units of 1/32: the next sample from the last four
  std::uint32_t start = 0;        // 0 … 31: how large the first residuals will be
};

/// The mean residual at the start, in 1/16 count: 2, 3, 4, 6, 8, 12, …
[[nodiscard]] L3_FN constexpr std::int32_t start_scale(std::uint32_t start) {
  return static_cast<std::int32_t>((2 + start % 2) << (start / 2));
}

/// Where to look for a residual: the table, and how many of its low bits are stored as they are.
struct scale {
  std::uint32_t table;
  std::uint32_t low_bits;
};

inline constexpr std::uint32_t max_low_bits = 6;

/// By the sum of two running means, in 1/32 count: two scales an octave.
[[nodiscard]] L3_FN constexpr scale scale_of(std::int32_t sum) {
  constexpr std::uint32_t last = small_scales + 2 * max_low_bits - 1;
  const auto s = static_cast<std::uint32_t>(sum < 4 ? 4 : sum);
  const auto octave = static_cast<std::uint32_t>(std::bit_width(s)) - 1;
  std::uint32_t n = 2 * (octave - 2) + (s >> (octave - 1) & 1);
  n = n < last ? n : last;
  if (n < small_scales) return {n, 0};
  return {small_scales + (n - small_scales) % 2, (n - small_scales) / 2 + 1};
}

class lane_model {
public:
  lane_model() = default;
  L3_FN explicit lane_model(const choice& c)
      : error_{start_scale(c.start), start_scale(c.start) + start_scale(c.start) / 4,
               2 * start_scale(c.start)},
        fast_(start_scale(c.start)), slow_(start_scale(c.start)) {}

  struct prediction {
    std::int32_t of[3]; // by the filter; the last sample; the line through the last two
    std::int32_t best;
  };

  /// The filter acts on the distance to the level, a running mean. Another predictor is taken only
  /// if it was better by an eighth.
  [[nodiscard]] L3_FN prediction predict(const choice& c) const {
    std::int32_t rest = 32;
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < taps; ++j) {
      rest -= c.filter[j];
      sum += c.filter[j] * last_[j];
    }
    prediction p{};
    p.of[0] = (level_ * rest + 16 * sum + 256) >> 9;
    p.of[1] = last_[0];
    p.of[2] = 2 * last_[0] - last_[1];
    std::int32_t least = error_[0] - (error_[0] >> 3);
    p.best = p.of[0];
    for (int k = 1; k < 3; ++k) {
      if (error_[k] < least) {
        least = error_[k];
        p.best = p.of[k];
      }
    }
    return p;
  }

  [[nodiscard]] L3_FN scale scale_now() const { return scale_of(fast_ + slow_); }

  /// After sample y, the `age`th behind the waveform's first, of residual r.
  L3_FN void learn(const prediction& p, std::int32_t y, std::int32_t r, std::uint32_t age) {
    const std::int32_t size = magnitude(r) * 16;
    fast_ += (size - fast_ + 2) >> 2;
    slow_ += (size - slow_ + 32) >> 6;
    for (int k = 0; k < 3; ++k) error_[k] += (magnitude(y - p.of[k]) * 16 - error_[k] + 8) >> 4;
    level_ += (y * 16 - level_) >> (age < 4 ? 2 : age < 8 ? 3 : 4);
    for (std::uint32_t j = taps - 1; j > 0; --j) last_[j] = last_[j - 1];
    last_[0] = y;
  }

private:
  [[nodiscard]] L3_FN static constexpr std::int32_t magnitude(std::int32_t v) {
    return v < 0 ? -v : v;
  }

  std::int32_t last_[taps] = {};
  std::int32_t level_ = 0; // 1/16 count
  std::int32_t error_[3] = {};
  std::int32_t fast_ = 0; // running means of residuals, 1/16 count
  std::int32_t slow_ = 0;
};

} // namespace l3::strong
