// SPDX-License-Identifier: Apache-2.0
// What differs from the reference run of histograms.reference, in short: for metrics, /status and
// the log. The comparison itself is that of transport/histograms/comparison.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace l3 {

struct run_changes; // transport/histograms/comparison.hpp

struct reference_report {
  std::uint64_t inputs = 0;     ///< that changed
  std::string which_inputs;     ///< in short: "0/3/7, 12/4/0 (noise)", "256 of crate 4 (pedestal)"
  std::uint64_t histograms = 0; ///< of events, that changed
  std::string which_histograms; ///< "calorimeter_energy (mean 1323 MeV, now 910 MeV)"

  friend bool operator==(const reference_report&, const reference_report&) = default;
};

/// A few inputs are named; of many is said how many each crate has, the most first. Then what of
/// them changed, or that only one of both runs has them.
[[nodiscard]] reference_report report_of(const run_changes& changes);

/// Says when the log has a line of a number of changes. These add up in a run, and one near its
/// limit comes and goes, so there is a line for the first ones, for twice as many as in the line
/// before, and when there is none any more. For one thread.
class change_lines {
public:
  /// `begin` of each line, `reference` is the file.
  change_lines(std::string_view begin, std::string_view reference)
      : begin_(begin), reference_(reference) {}

  /// `which`: these changes in short.
  [[nodiscard]] std::optional<std::string> look(std::uint64_t number, const std::string& which);

private:
  std::string begin_;
  std::string reference_;
  std::uint64_t told_ = 0; ///< the number of the line before
};

} // namespace l3
