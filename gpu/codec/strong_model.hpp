// SPDX-License-Identifier: Apache-2.0
// A strong codec lane's model of its waveform: the last samples, which of two predictors was
// better recently, and the size of the residuals. Encoder and decoder compute the same
// model, so it takes no bytes. It uses integers only; samples are relative to the waveform's
// first.
#pragma once

#include <cstdint>

#include "gpu/codec/strong_tables.hpp"
#include "gpu/executors/bits.hpp"
#include "transport/format/function.hpp"

namespace l3::strong {

inline constexpr std::uint32_t record_samples = 64;
inline constexpr std::uint32_t group_records = 16;
inline constexpr std::uint32_t taps = 4;

/// The encoder's choice for a group, stored in its head.
struct choice {
  std::int32_t filter[taps] = {}; // −64 … 63, in units of 1/32: the next sample from the last four
  std::uint32_t start = 0;        // 0 … 31: expected size of the first residuals
};

/// The mean residual at the start, in 1/16 count: 2, 3, 4, 6, 8, 12, …
[[nodiscard]] L3_FN constexpr std::int32_t start_scale(std::uint32_t start) {
  return static_cast<std::int32_t>((2 + start % 2) << (start / 2));
}

/// The scale from the sum of two running means of residuals, in 1/32 count: two scales per octave.
[[nodiscard]] L3_FN inline std::uint32_t scale_of(std::int32_t sum) {
  const auto s = static_cast<std::uint32_t>(sum < 4 ? 4 : sum);
  const auto octave = bits_used(s) - 1;
  const std::uint32_t n = 2 * (octave - 2) + (s >> (octave - 1) & 1);
  return n < scales - 1 ? n : scales - 1;
}

class lane_model {
public:
  lane_model() = default;
  L3_FN explicit lane_model(const choice& c)
      : fast_(start_scale(c.start)), slow_(start_scale(c.start) * slow_unit) {
    for (const std::int32_t tap : c.filter) rest_ -= tap;
  }

  struct prediction {
    std::int32_t filtered;
    std::int32_t best; // the filtered prediction, or the last sample
  };

  /// The filter acts on the distance to the level, a running mean.
  [[nodiscard]] L3_FN prediction predict(const choice& c) const {
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < taps; ++j) sum += c.filter[j] * last_[j];
    prediction p{};
    p.filtered = ((level_ - first_level) * rest_ + 16 * sum + 256) >> 9;
    p.best = lead_ > least_lead ? last_[0] : p.filtered;
    return p;
  }

  [[nodiscard]] L3_FN std::uint32_t scale_now() const { return scale_of(fast_ + (slow_ >> 6)); }

  /// Call it after sample y, number `age` after the waveform's first, with residual r. Each running
  /// mean is stored as a sum, from which a part is subtracted before the new value is added. That
  /// takes two operations, and its rounding lets the means of small residuals decrease.
  L3_FN void learn(const prediction& p, std::int32_t y, std::int32_t r, std::uint32_t age) {
    fast_ += 4 * magnitude(r) - (fast_ >> 2);
    slow_ += 16 * magnitude(r) - (slow_ >> 6);
    lead_ += magnitude(y - p.filtered) - magnitude(y - last_[0]) - (lead_ >> 3);
    const std::uint32_t shift = level_shift(age);
    level_ += y * (16 >> shift) - (level_ >> shift);
    for (std::uint32_t j = taps - 1; j > 0; --j) last_[j] = last_[j - 1];
    last_[0] = y;
  }

  /// The level is a mean over few samples at first.
  [[nodiscard]] L3_FN static constexpr std::uint32_t level_shift(std::uint32_t age) {
    return age < 2 ? 1 : age < 4 ? 2 : age < 8 ? 3 : 4;
  }

  static constexpr std::int32_t first_level = 8; // half of the loss of its steps by rounding down
  static constexpr std::int32_t least_lead = 9;
  static constexpr std::int32_t slow_unit = 64;

private:
  [[nodiscard]] L3_FN static constexpr std::int32_t magnitude(std::int32_t v) {
    return v < 0 ? -v : v;
  }

  std::int32_t last_[taps] = {};
  std::int32_t level_ = first_level; // 1/16 count
  std::int32_t lead_ = 0;            // errors of the filter minus those of the last sample
  std::int32_t fast_ = 0;            // running means of residuals, 1/16 count
  std::int32_t slow_ = 0;            // in 1/1024 count
  std::int32_t rest_ = 32;           // weight of the level beside the filter, in units of 1/32
};

} // namespace l3::strong
