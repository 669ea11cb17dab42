// SPDX-License-Identifier: Apache-2.0
// What is wrong with a configuration, and where. Errors are collected and reported together, so
// that a user mends a file in one go.
#pragma once

#include <cstdint>
#include <string>

namespace l3 {

struct config_error {
  std::string file;
  std::uint32_t line = 0; ///< from 1; 0: the file as a whole
  std::uint32_t column = 0;
  std::string text;
};

/// As users see it: `/etc/koto-l3/l3.toml:41:12: forward.window = 0 is out of range 1..65536
/// (default 256)`.
[[nodiscard]] inline std::string to_string(const config_error& e) {
  if (e.line == 0) return e.file + ": " + e.text;
  return e.file + ":" + std::to_string(e.line) + ":" + std::to_string(e.column) + ": " + e.text;
}

} // namespace l3
