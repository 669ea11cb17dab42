// SPDX-License-Identifier: Apache-2.0
// A TOML file as values that know their places, independent of the parser library. The size of a
// file and the depth of its values are limited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace l3 {

struct toml_value {
  struct table {
    std::vector<toml_value> values; ///< each with its key
  };
  using list = std::vector<toml_value>;

  /// std::monostate: a date or a time, which no key accepts.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, list, table> content;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string key; ///< its key in a table, and the key's place
  std::uint32_t key_line = 0;
  std::uint32_t key_column = 0;

  /// Returns nullptr if the value is of another kind.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&content);
  }
  /// Converts an integer too.
  [[nodiscard]] std::optional<double> number() const;
  /// The elements of a list of `count` numbers; empty if it is not one.
  [[nodiscard]] std::vector<double> numbers(std::size_t count) const;
};

/// Text of the value for messages; a long one is cut.
[[nodiscard]] std::string written(const toml_value& v);

/// A TOML basic string.
[[nodiscard]] std::string quote(std::string_view text);

/// Limit for configuration and selection files, including the calibration's table.
inline constexpr std::size_t most_text_bytes = std::size_t{1} << 20;

/// Reads the whole file. Throws bad_file if it cannot be read, is too long, or is no regular file.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// Parses the text into a table; `name` is the file's name for messages. Throws bad_file.
[[nodiscard]] toml_value parse_toml(std::string_view text, const std::string& name);

} // namespace l3
