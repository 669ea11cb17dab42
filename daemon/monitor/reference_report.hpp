// SPDX-License-Identifier: Apache-2.0
// A summary of the differences from the reference run of histograms.reference, for metrics, /status
// and the log. transport/histograms/comparison.hpp compares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// Decides when to log a number of changes. Changes accumulate in a run, and one near its limit
/// comes and goes. So there is a line for the first changes, for twice as many as in the previous
/// line, and when no changes are left. For one thread.
class change_lines {
public:
  /// Each line starts with `begin`; `reference` is the file.
  change_lines(std::string_view begin, std::string_view reference)
      : begin_(begin), reference_(reference) {}

  /// `which`: a summary of these changes.
  [[nodiscard]] std::optional<std::string> look(std::uint64_t number, const std::string& which);

private:
  std::string begin_;
  std::string reference_;
  std::uint64_t told_ = 0; ///< number in the previous line
};

} // namespace l3
