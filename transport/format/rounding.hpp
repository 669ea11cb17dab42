// SPDX-License-Identifier: Apache-2.0
// Samples that are stored within a bound (docs/formats.md, section 7): for a greatest error of e
// counts, a sample is rounded to the nearest multiple of 2 e + 1, and the stream has the number of
// that multiple. No sample then differs by more than e counts from the one that came. Usable in
// device code.
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// Counts.
inline constexpr std::uint32_t most_greatest_error = 100;

/// From samples to multiples.
class sample_rounding {
public:
  /// An error of 1 … most_greatest_error counts.
  explicit L3_FN constexpr sample_rounding(std::uint32_t greatest_error)
      : error_(greatest_error), inverse_(0xffffffffU / (2 * greatest_error + 1) + 1) {}

  /// For a sample of up to 16 bits. The product is exact enough for each quotient: the inverse is
  /// too large by less than 2^-32, and a quotient is at least 1 / (2 e + 1) below the next number.
  [[nodiscard]] L3_FN constexpr std::uint32_t multiple_of(std::uint32_t sample) const {
    return static_cast<std::uint32_t>(std::uint64_t{sample + error_} * inverse_ >> 32);
  }

private:
  std::uint32_t error_;
  std::uint32_t inverse_; ///< 2^32 / (2 e + 1), rounded up
};

/// The sample that a multiple stands for. The multiple next to the largest sample may lie beyond
/// it; then that sample is nearer.
[[nodiscard]] L3_FN constexpr std::uint32_t
rounded_sample(std::uint32_t multiple, std::uint32_t greatest_error, std::uint32_t largest) {
  const std::uint32_t sample = multiple * (2 * greatest_error + 1);
  return sample < largest ? sample : largest;
}

} // namespace l3
