// SPDX-License-Identifier: Apache-2.0
// A long table of Gaussian noise. A board takes its noise from a random place in it, scaled channel
// by channel: drawing hundreds of thousands of normal numbers per event would take most of the
// time.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "selection/detector/pulse_form.hpp"
#include "selection/detector/random.hpp"

namespace l3 {

class noise_table {
public:
  /// Neighbouring samples are 16 entries apart, as in the packet of a 125 MHz board; the filter
  /// before the digitizer correlates them. Without correlation all entries are independent.
  enum class correlation : std::uint8_t { none, neighbours };

  noise_table(std::uint64_t seed, correlation c);

  /// 1024 numbers with the rms `unit` for one board.
  [[nodiscard]] std::span<const std::int16_t, 1024> at_random(random_source& random) const {
    return std::span<const std::int16_t, 1024>(values_.data() + random.below(starts), 1024);
  }

  /// rms of the numbers; the type has room for eight times as much.
  static constexpr int unit = 4096;

  /// The factor, to be shifted by 16, for noise with this rms in counts.
  [[nodiscard]] static std::int16_t scale_for(double counts) {
    return static_cast<std::int16_t>(std::lround(counts * (65536.0 / unit)));
  }

private:
  static constexpr std::uint32_t starts = 1U << 19;
  std::vector<std::int16_t> values_;
};

// Pulse shapes, tabulated at 64 phases within a sample, and their addition to a waveform.

/// A pulse of height 1 with its peak at time 0.
class pulse_shape {
public:
  pulse_shape(const pulse_form& form, double sample_length);

  /// Adds a pulse to `samples` values with the given stride. `time`: of its peak, relative to the
  /// first sample.
  void add(int* first, int samples, int stride, double height, double time) const;

  /// The sum of a pulse of height 1 over all samples.
  [[nodiscard]] double sum() const;

private:
  static constexpr int phases = 64;
  static constexpr int shift = 14; // fixed-point shift of the table

  double sample_length_;
  int before_; // samples in the table before the peak's
  int length_;
  std::vector<std::int32_t> table_; // [phase][sample]
};

} // namespace l3
