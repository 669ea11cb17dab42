// SPDX-License-Identifier: Apache-2.0
// Runs a selection over a simulated file and compares it with the truth.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/evaluate/evaluation.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/simulation/truth_file.hpp"

namespace l3 {

// Reads the truth beside a simulated file event by event; refuses the truth of another file.

class truth_beside {
public:
  /// `data`: name for messages. Throws command_error if the truth cannot be opened.
  truth_beside(std::string truth, std::string data, const detector& d);

  /// The truth of the file's next event. Throws command_error if it is missing or belongs to
  /// another event: another simulation has the same event numbers with other times and triggers.
  [[nodiscard]] const true_event& of(const decided_event& next);
  /// Call it after the last event. Throws command_error if the truth has more events.
  void finish();

private:
  std::string name_;
  std::string data_;
  truth_reader reader_;
  true_event event_;
  event_key key_;
};

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
