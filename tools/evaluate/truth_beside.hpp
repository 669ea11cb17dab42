// SPDX-License-Identifier: Apache-2.0
// The truth beside a file of simulated data, an event at a time; a truth that is another file's is
// refused.
#pragma once

#include <string>

#include "tools/evaluate/selection_run.hpp"
#include "tools/simulation/truth_reader.hpp"

namespace l3 {

class truth_beside {
public:
  /// `data` is for messages. `may_lack`: the data may lack events, where they are damaged. Throws
  /// command_error if the truth cannot be opened.
  truth_beside(std::string truth, std::string data, const detector& d, bool may_lack = false);

  /// That of the file's next event. Throws command_error if it is of another one, or missing:
  /// another simulation gives the same numbers to events of other times and triggers.
  [[nodiscard]] const true_event& of(const decided_event& next);
  /// Behind the last event. Throws command_error if the truth goes on.
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
