// SPDX-License-Identifier: Apache-2.0
// Which inputs changed since a reference run: pedestal, noise, occupancy, time, and whether they
// are read out at all. A change counts if it is large enough to matter, and six times what the
// statistics of both runs allow. An input that only one of both runs has changed, too.
// Likewise which histograms of events changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/histograms/histogram_json.hpp"

namespace l3 {

enum class channel_property : std::uint8_t { read_out, pedestal, noise, occupancy, time };

[[nodiscard]] std::string_view name_of(channel_property p);
[[nodiscard]] std::string_view unit_of(channel_property p);

struct channel_change {
  std::string input;
  channel_property what = channel_property::read_out;
  double was = 0; ///< of read_out: the share of events in which the input was read
  double is = 0;

  friend bool operator==(const channel_change&, const channel_change&) = default;
};

/// In the order of the inputs. Inputs are compared by their address; an input that only one of both
/// has is not compared.
[[nodiscard]] std::vector<channel_change> changed_channels(const shown_histograms& now,
                                                           const shown_histograms& reference);

/// A histogram of events whose entries lie elsewhere.
struct histogram_change {
  std::string name;
  std::string unit;
  double was = 0; ///< mean of the entries within the bins
  double is = 0;
  double distance =
      0; ///< Kolmogorov's: the largest difference of the shares of entries up to a bin

  friend bool operator==(const histogram_change&, const histogram_change&) = default;
};

/// In their order. Those that only one of both has are not compared, nor are times of hits: they
/// follow those of the inputs. Both have the same binning.
[[nodiscard]] std::vector<histogram_change> changed_histograms(const shown_histograms& now,
                                                               const shown_histograms& reference);

/// What differs between a run and its reference.
struct run_changes {
  std::vector<channel_change> inputs;         ///< as changed_channels() has them
  std::vector<std::string> only_here;         ///< addresses, in the order of the inputs
  std::vector<std::string> only_in_reference; ///< likewise
  std::vector<histogram_change> histograms;   ///< of events

  [[nodiscard]] bool none() const;
  friend bool operator==(const run_changes&, const run_changes&) = default;
};
[[nodiscard]] run_changes changes_between(const shown_histograms& now,
                                          const shown_histograms& reference);

/// The inputs that changed, each once, in their order.
[[nodiscard]] std::vector<std::string> changed_inputs(const std::vector<channel_change>& changes);

struct crate_inputs {
  std::string crate; ///< as the addresses begin
  std::uint64_t inputs = 0;

  friend bool operator==(const crate_inputs&, const crate_inputs&) = default;
};
/// How many of these addresses each crate has, in the order of the first ones.
[[nodiscard]] std::vector<crate_inputs> by_crate(std::span<const std::string> inputs);

/// Members of a JSON object: `changed`, [{input, what, unit, was, is}, …], `only_here` and
/// `only_in_reference`, addresses, and `changed_histograms`, [{name, unit, was, is, distance}, …].
[[nodiscard]] std::string members_of(const run_changes& changes);

struct binning_difference {
  std::string place; ///< in the other's document, as named_histogram has it
  std::string text;
};
/// Of the first histogram whose binning is not that of the same name.
[[nodiscard]] std::optional<binning_difference> other_binning(const shown_histograms& now,
                                                              const shown_histograms& other);

/// Why what was read from this file is no reference, and what to do; empty if it is one.
[[nodiscard]] std::string wrong_reference(const shown_histograms& now,
                                          const shown_histograms& reference,
                                          const std::string& file);

} // namespace l3
