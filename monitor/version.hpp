// SPDX-License-Identifier: Apache-2.0
// Which koto-l3 this is.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

/// "0.2.0".
[[nodiscard]] std::string_view version();

/// The commit of the sources, with "-dirty" if they differed from it; "unknown" where they were
/// built outside a checkout, and in tests: only programs know it, so that a commit links little
/// again.
[[nodiscard]] std::string_view commit();

/// What `PROGRAM --version` says.
[[nodiscard]] inline std::string version_line(std::string_view program) {
  return std::string(program) + " " + std::string(version()) + " (commit " + std::string(commit()) +
         ")";
}

} // namespace l3
