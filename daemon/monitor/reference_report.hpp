// SPDX-License-Identifier: Apache-2.0
// A summary of the differences from the reference run of histograms.reference, for metrics, /status
// and troubles. transport/histograms/comparison.hpp compares.
#pragma once

#include <cstdint>
#include <string>

namespace l3 {

struct run_changes; // transport/histograms/comparison.hpp

struct reference_report {
  std::uint64_t inputs = 0;     ///< number that changed
  std::string which_inputs;     ///< in short: "0/3/7, 12/4/0 (noise)", "256 of crate 4 (pedestal)"
  std::uint64_t histograms = 0; ///< of events; number that changed
  std::string which_histograms; ///< "calorimeter_energy (mean 1323 MeV, now 910 MeV)"

  friend bool operator==(const reference_report&, const reference_report&) = default;
};

/// Names a few inputs; of many it gives the number per crate, the largest first. Then it says what
/// changed, or that only one of the runs has them.
[[nodiscard]] reference_report report_of(const run_changes& changes);

} // namespace l3
