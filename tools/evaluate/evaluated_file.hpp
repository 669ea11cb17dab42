// SPDX-License-Identifier: Apache-2.0
// Runs a selection over a simulated file and compares it with the truth.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/evaluate/evaluation.hpp"
#include "tools/evaluate/selection_run.hpp"

namespace l3 {

inline constexpr const char* usual_signal_line = "pi0nunu"; // a selection may lack it

struct evaluated_file {
  std::string name; ///< of the selection's file
  std::vector<std::string> lines;
  evaluation result;
  std::vector<bool> kept; ///< by event
};

struct evaluated_event {
  const true_event& truth;
  const decided_event& decided;
  bool kept_as_signal; ///< by the signal's line
};

/// `run.in` is the file of `in`. Calls `tell`, if set, for every event. Throws command_error.
[[nodiscard]] evaluated_file
evaluate_file(const selection_options& run, const std::string& truth_file,
              const std::string& signal_line, file_batches& in, interrupt& signals,
              const std::function<void(const evaluated_event&)>& tell = {});

} // namespace l3
