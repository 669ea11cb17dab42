// SPDX-License-Identifier: Apache-2.0
// --skip-damaged: damaged data are skipped and reported without an error.
#pragma once

#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "tools/replay/file_fault.hpp"

namespace l3 {

inline option add_skip_damaged_flag(command_line command, bool& skips) {
  return command.add_flag(
      "--skip-damaged", skips,
      "end with 0 although damaged places are left out, and say how many these are");
}

[[nodiscard]] constexpr at_damage with_flag(bool skips) {
  return skips ? at_damage::go_on : at_damage::end_and_offer;
}

/// Reports skipped parts on standard error, if there are any.
inline void tell(const std::string& file, const left_out& out) {
  if (out.places > 0) print_error("{}\n", text_of(file, out));
}

} // namespace l3
