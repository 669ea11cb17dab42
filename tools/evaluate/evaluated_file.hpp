// SPDX-License-Identifier: Apache-2.0
// A selection run over a simulated file and held against the truth beside it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/evaluate/evaluation.hpp"
#include "tools/evaluate/selection_run.hpp"

namespace l3 {

inline constexpr const char* usual_signal_line = "pi0nunu"; // which a selection may lack

struct evaluated_file {
  std::string name; ///< of the selection's file
  std::vector<std::string> lines;
  evaluation result;
  std::vector<bool> kept; ///< by event, for comparisons
};

struct evaluated_event {
  const true_event& truth;
  const decided_event& decided;
  bool kept_as_signal; ///< by the signal's line
};

/// `run.in` is the file of `in`. `tell`, if given, hears of every event. Throws command_error.
[[nodiscard]] evaluated_file
evaluate_file(const selection_options& run, const std::string& truth_file,
              const std::string& signal_line, file_batches& in, interrupt& signals,
              const std::function<void(const evaluated_event&)>& tell = {});

} // namespace l3
