// SPDX-License-Identifier: Apache-2.0
// Reads the truth beside simulated data, a line for every event (tools/simulation/README.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/simulation/true_event.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

class truth_reader {
public:
  /// Throws std::runtime_error if the file cannot be opened. `d` knows the counters by name.
  truth_reader(const std::filesystem::path& file, const detector& d);

  /// The next event's truth; its signals are not in the file. False at the end. Throws
  /// std::runtime_error that names the line if it cannot be read.
  bool next(true_event& out, event_key& key);

private:
  std::string name_;
  const detector& detector_;
  std::ifstream file_;
  std::string line_;
  std::uint64_t number_ = 0; // of the line
};

} // namespace l3
