// SPDX-License-Identifier: Apache-2.0
// What the system says that this process uses, under the names that clients of Prometheus give it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "monitor/family.hpp"

namespace l3 {

struct process_usage {
  double cpu = 0;     ///< s, of all threads, in the program and in the system
  double started = 0; ///< s since 1970-01-01 UTC
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t threads = 0;
  std::uint64_t open_files = 0;
  std::uint64_t most_files = 0; ///< that it may open
};

/// What of /proc/PID/stat is used; proc(5) numbers its fields from 1.
struct stat_line {
  std::uint64_t threads = 0;       ///< field 20
  std::uint64_t started = 0;       ///< field 22, clock ticks since the boot
  std::uint64_t virtual_bytes = 0; ///< field 23
  std::uint64_t pages = 0;         ///< field 24

  friend bool operator==(const stat_line&, const stat_line&) = default;
};
/// All 0 if it is no such line.
[[nodiscard]] stat_line stat_line_of(std::string_view line);

/// What cannot be read is 0.
[[nodiscard]] process_usage usage_of_this_process();

/// Metrics only, for the end of a program's list.
[[nodiscard]] std::vector<family> families_of(const process_usage& u);

} // namespace l3
