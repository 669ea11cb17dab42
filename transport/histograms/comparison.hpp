// SPDX-License-Identifier: Apache-2.0
// Mean and width of the entries in the bins of a histogram, as if each entry were in the middle of
// its bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/format/histograms.hpp"
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

/// Finds the inputs that changed since a reference run: pedestal, noise, occupancy, time, and
/// whether they are read out at all. A change counts if it is large enough to matter, and six times
/// the statistical error of both runs. An input that only one run has counts as changed. Histograms
/// of events are compared likewise.
enum class channel_property : std::uint8_t { read_out, pedestal, noise, occupancy, time };

[[nodiscard]] std::string_view name_of(channel_property p);
[[nodiscard]] std::string_view unit_of(channel_property p);

struct channel_change {
  std::string input;
  channel_property what = channel_property::read_out;
  double was = 0; ///< for read_out: the share of events with the input
  double is = 0;

  friend bool operator==(const channel_change&, const channel_change&) = default;
};

/// In the order of the inputs. Inputs are identified by their address; inputs that only one run has
/// are not compared here.
[[nodiscard]] std::vector<channel_change> changed_channels(const shown_histograms& now,
                                                           const shown_histograms& reference);

/// A changed histogram of events.
struct histogram_change {
  std::string name;
  std::string unit;
  double was = 0; ///< mean of the entries in the bins
  double is = 0;
  double distance = 0; ///< Kolmogorov's distance: largest difference of the cumulative shares

  friend bool operator==(const histogram_change&, const histogram_change&) = default;
};

/// In their order. Histograms that only one run has are not compared, nor are times of hits, which
/// follow the inputs' times. Both runs must have the same binning.
[[nodiscard]] std::vector<histogram_change> changed_histograms(const shown_histograms& now,
                                                               const shown_histograms& reference);

/// The differences between a run and its reference.
struct run_changes {
  std::vector<channel_change> inputs;         ///< see changed_channels()
  std::vector<std::string> only_here;         ///< addresses, in the order of the inputs
  std::vector<std::string> only_in_reference; ///< likewise
  std::vector<histogram_change> histograms;   ///< of events

  [[nodiscard]] bool none() const;
  friend bool operator==(const run_changes&, const run_changes&) = default;
};
[[nodiscard]] run_changes changes_between(const shown_histograms& now,
                                          const shown_histograms& reference);

/// The changed inputs, each once, in their order.
[[nodiscard]] std::vector<std::string> changed_inputs(const std::vector<channel_change>& changes);

struct crate_inputs {
  std::string crate; ///< in the form of the addresses
  std::uint64_t inputs = 0;

  friend bool operator==(const crate_inputs&, const crate_inputs&) = default;
};
/// The number of these addresses in each crate, in the order of first occurrence.
[[nodiscard]] std::vector<crate_inputs> by_crate(std::span<const std::string> inputs);

/// Members of a JSON object: `changed`, [{input, what, unit, was, is}, …], `only_here` and
/// `only_in_reference`, addresses, and `changed_histograms`, [{name, unit, was, is, distance}, …].
[[nodiscard]] std::string members_of(const run_changes& changes);

struct binning_difference {
  std::string place; ///< place of the name in the other document, see named_histogram
  std::string text;
};
/// The first histogram whose binning differs.
[[nodiscard]] std::optional<binning_difference> other_binning(const shown_histograms& now,
                                                              const shown_histograms& other);

/// Why the contents of this file are no valid reference, and what to do; empty if they are.
[[nodiscard]] std::string wrong_reference(const shown_histograms& now,
                                          const shown_histograms& reference,
                                          const std::string& file);

/// Finds hot inputs: their waveforms contain pulses most of the time, and far more often than other
/// inputs of their counter. A counter with a high rate on all inputs, such as those in the beam,
/// has no hot input. docs/selection.md explains the rule.
struct hot_rule {
  std::uint64_t least_waveforms = 100; ///< inputs with fewer waveforms are not judged
  std::uint32_t above = 50;            ///< smallest percentage of an input's waveforms with a pulse
  std::uint32_t times_median = 5;      ///< smallest ratio to the usual share in its counter
};

enum class input_heat : std::uint8_t {
  unknown, ///< too few waveforms, or in no counter
  normal,
  hot
};

/// The heat of each input. `counters`: the counter of each input, the calorimeter being one;
/// nothing for an input that is dead or unused, which does not count for the others. The usual
/// share of a counter is the median over its inputs, the lower middle one of an even number.
[[nodiscard]] std::vector<input_heat>
heat_of(std::span<const channel_sums> channels,
        std::span<const std::optional<std::uint32_t>> counters, const hot_rule& rule);

} // namespace l3
