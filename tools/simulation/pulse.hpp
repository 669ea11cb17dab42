// SPDX-License-Identifier: Apache-2.0
// Pulse shapes, tabulated at 64 phases within a sample, and their addition to a waveform.
#pragma once

#include <cstdint>
#include <vector>

#include "selection/detector/pulse_form.hpp"

namespace l3 {

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
