// SPDX-License-Identifier: Apache-2.0
// Writes the truth beside the data: one JSON object per line and event, in the order of the file
// (tools/simulation/README.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/simulation/true_event.hpp"
#include "transport/format/event_key.hpp"
#include "transport/system/input_file.hpp"

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

// Reads the truth beside simulated data, one line per event (tools/simulation/README.md).

class truth_reader {
public:
  /// Throws std::runtime_error if the file cannot be opened. `d` provides the counters' names.
  truth_reader(const std::filesystem::path& file, const detector& d);

  /// The next event's truth; signals are not in the file. Returns false at the end. Throws
  /// std::runtime_error with the line if it is invalid.
  bool next(true_event& out, event_key& key);

private:
  /// Valid until the next call.
  [[nodiscard]] std::optional<std::string_view> next_line();
  void read_on();

  std::string name_;
  const detector& detector_;
  input_file in_;
  std::string buffer_;       // the longest line fits
  std::size_t held_ = 0;     // bytes in it, the last ones before offset_
  std::size_t taken_ = 0;    // of these
  std::uint64_t offset_ = 0; // of the file
  bool at_end_ = false;
  std::uint64_t number_ = 0; // of the line
};

} // namespace l3
