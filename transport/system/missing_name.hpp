// SPDX-License-Identifier: Apache-2.0
// Whether a file that a program holds open has lost its name, as by a cleaning job.
#pragma once

#include <cerrno>
#include <string>

#include <sys/stat.h>

namespace l3 {

/// There is no file of this name, nor anything else.
[[nodiscard]] inline bool is_missing_name(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) != 0 && errno == ENOENT;
}

} // namespace l3
