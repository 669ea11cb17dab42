// SPDX-License-Identifier: Apache-2.0
// Writes the truth beside the data: one JSON object per line and event, in the order of the file
// (tools/simulation/README.md).
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "tools/simulation/true_event.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

/// Appends the event's line to `out`.
void append_truth(std::string& out, const detector& d, const true_event& e, event_key key,
                  std::chrono::nanoseconds since_spill);

/// Throws std::runtime_error if the file cannot be written.
class truth_file {
public:
  explicit truth_file(const std::filesystem::path& file);
  void write(const std::string& lines);
  void close();

private:
  [[noreturn]] void fail() const;
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, closer> file_;
};

} // namespace l3
