// SPDX-License-Identifier: Apache-2.0
// Mean and width of the entries in the bins of a histogram, as if each entry were in the middle of
// its bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "transport/histograms/histogram_json.hpp"

namespace l3 {

struct moments {
  std::uint64_t entries = 0; ///< in the bins
  double mean = 0;
  double rms = 0;
};

[[nodiscard]] inline moments moments_of(const named_histogram& h) {
  moments m;
  double sum = 0;
  double squares = 0;
  for (std::size_t k = 0; k < h.bins(); ++k) {
    const auto n = static_cast<double>(h.counts[k + 1]);
    const double middle = h.low + h.width * (static_cast<double>(k) + 0.5);
    m.entries += h.counts[k + 1];
    sum += n * middle;
    squares += n * middle * middle;
  }
  if (m.entries == 0) return m;
  const auto n = static_cast<double>(m.entries);
  m.mean = sum / n;
  m.rms = std::sqrt(std::max(0.0, squares / n - m.mean * m.mean));
  return m;
}

} // namespace l3
