// SPDX-License-Identifier: Apache-2.0
// A value as it stands in a configuration file, free of the library that read it: what it says, how
// to quote it in a message, and where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace l3 {

struct written_value {
  /// Holds std::monostate for what no key of ours takes: truth values, floating point, dates,
  /// tables.
  std::variant<std::monostate, std::int64_t, std::string, std::vector<written_value>> content;
  std::string quoted; ///< as messages show it
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// A TOML basic string.
[[nodiscard]] std::string quote(const std::string& text);

} // namespace l3
