// SPDX-License-Identifier: Apache-2.0
// The table of robustness: for each row (stress_rows.hpp) signal events that pass the offline
// analysis's cuts on their photons (and, where an effect adds hits, those on counters), and the
// usual mixture, are simulated with the row's effects and selected. The judge in tests/offline
// takes the signal's files and decisions from here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "tools/evaluate/evaluated_file.hpp"
#include "tools/evaluate/stress_rows.hpp"

namespace l3 {

struct stress_settings {
  std::vector<std::string> rows; ///< names; empty: all
  std::uint32_t signal_events = 300;
  std::uint32_t mixture_events = 300; ///< 0: none, and the row holds of the signal alone
  std::uint64_t seed = 1;
  /// Where the signal's events, truth and decisions stay: ROW.l2raw, ROW.l2raw.truth.jsonl,
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

/// Those that are named. Throws command_error.
[[nodiscard]] std::vector<const stress_row*> chosen_rows(const std::vector<std::string>& names);

[[nodiscard]] std::string stress_head();
[[nodiscard]] std::string stress_line(const stress_result& r);
/// What the row puts in, and what it must hold.
[[nodiscard]] boost::json::object stress_json(const stress_row& row);
[[nodiscard]] boost::json::object stress_json(const stress_result& r);

} // namespace l3
