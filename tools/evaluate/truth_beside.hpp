// SPDX-License-Identifier: Apache-2.0
// Reads the truth beside a simulated file event by event; refuses the truth of another file.
#pragma once

#include <string>

#include "tools/evaluate/selection_run.hpp"
#include "tools/simulation/truth_reader.hpp"

namespace l3 {

class truth_beside {
public:
  /// `data`: name for messages. `may_lack`: events of the data may be missing because of damage.
  /// Throws command_error if the truth cannot be opened.
  truth_beside(std::string truth, std::string data, const detector& d, bool may_lack = false);

  /// The truth of the file's next event. Throws command_error if it is missing or belongs to
  /// another event: another simulation has the same event numbers with other times and triggers.
  [[nodiscard]] const true_event& of(const decided_event& next);
  /// Call it after the last event. Throws command_error if the truth has more events.
  void finish();

private:
  std::string name_;
  std::string data_;
  bool may_lack_;
  truth_reader reader_;
  true_event event_;
  event_key key_;
};

} // namespace l3
