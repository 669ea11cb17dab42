// SPDX-License-Identifier: Apache-2.0
// The process' use of resources, with the names that Prometheus clients use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "monitor/family.hpp"

namespace l3 {

struct process_usage {
  double cpu = 0;     ///< s, of all threads, user and system time
  double started = 0; ///< s since 1970-01-01 UTC
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t threads = 0;
  std::uint64_t open_files = 0;
  std::uint64_t most_files = 0; ///< limit of open files
};

/// The used fields of /proc/PID/stat; proc(5) numbers them from 1.
struct stat_line {
  std::uint64_t threads = 0;       ///< field 20
  std::uint64_t started = 0;       ///< field 22, clock ticks since the boot
  std::uint64_t virtual_bytes = 0; ///< field 23
  std::uint64_t pages = 0;         ///< field 24

  friend bool operator==(const stat_line&, const stat_line&) = default;
};
/// Returns zeros if the line is invalid.
[[nodiscard]] stat_line stat_line_of(std::string_view line);

/// Values that cannot be read are 0.
[[nodiscard]] process_usage usage_of_this_process();

/// For metrics only, at the end of a program's list.
[[nodiscard]] std::vector<family> families_of(const process_usage& u);

} // namespace l3
