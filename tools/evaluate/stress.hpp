// SPDX-License-Identifier: Apache-2.0
// The robustness table: for each row, simulates and selects signal events and the
// usual mixture with the row's effects. Signal events must pass the offline cuts on photons (and,
// where an effect adds hits, those on counters). The judge in tests/offline reads the signal's
// files and decisions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "tools/evaluate/evaluation.hpp"
#include "tools/simulation/effects.hpp"

namespace l3 {

// The rows of the robustness table: effects in the waveforms that the selection does not expect, at
// two or three strengths each, and the signal and mixture that the selection must then keep.

struct stress_row {
  std::string_view name;
  std::vector<std::pair<std::string_view, double>> effects; ///< options of `koto-l3 simulate`
  double least_signal = 0.97; ///< fraction of the offline signal that the signal line keeps
  double most_mixture = 0.20; ///< kept fraction of the mixture

  [[nodiscard]] simulated_effects sizes() const;
  /// Whether a seed gives the same particles as without the effects, which then affect only the
  /// electronics.
  [[nodiscard]] bool same_particles() const;
};

/// The first row has no effect.
[[nodiscard]] const std::vector<stress_row>& stress_rows();

struct stress_settings {
  std::vector<std::string> rows; ///< names; empty: all
  std::uint32_t signal_events = 300;
  std::uint32_t mixture_events = 300; ///< 0: only the signal counts
  std::uint64_t seed = 1;
  /// Where the signal's events, truth and decisions are kept: ROW.l2raw, ROW.l2raw.truth.jsonl,
  /// ROW.decisions.jsonl. Empty: they are removed.
  std::string out;
};

struct stress_result {
  const stress_row* row = nullptr;
  evaluation signal;
  evaluation mixture;

  [[nodiscard]] bool holds() const;
};

/// Throws command_error.
[[nodiscard]] stress_result run_stress_row(const stress_row& row, const stress_settings& settings,
                                           const selection_options& run,
                                           const std::string& signal_line, interrupt& signals);

/// The rows with these names. Throws command_error.
[[nodiscard]] std::vector<const stress_row*> chosen_rows(const std::vector<std::string>& names);

[[nodiscard]] std::string stress_head();
[[nodiscard]] std::string stress_line(const stress_result& r);
/// The effects of the row and its limits.
[[nodiscard]] boost::json::object stress_json(const stress_row& row);
[[nodiscard]] boost::json::object stress_json(const stress_result& r);

} // namespace l3
