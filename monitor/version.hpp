// SPDX-License-Identifier: Apache-2.0
// Version and commit of this build.
#pragma once

#include <string>
#include <string_view>

namespace l3 {

/// "1.0.0-rc1".
[[nodiscard]] std::string_view version();

/// The commit of the sources, with "-dirty" if they were modified. It is "unknown" outside a
/// checkout and in tests: only programs contain it, so a commit relinks little.
[[nodiscard]] std::string_view commit();

/// Output of `PROGRAM --version`.
[[nodiscard]] inline std::string version_line(std::string_view program) {
  return std::string(program) + " " + std::string(version()) + " (commit " + std::string(commit()) +
         ")";
}

} // namespace l3
