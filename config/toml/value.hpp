// SPDX-License-Identifier: Apache-2.0
// A TOML file as values that know their places, free of the library that parses it. A file has a
// bounded number of bytes, and its values a bounded depth.
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

  /// std::monostate: a date or a time, which no key of ours takes.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, list, table> content;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string key; ///< in a table: its name there, and where that stands
  std::uint32_t key_line = 0;
  std::uint32_t key_column = 0;

  /// nullptr if it is of another kind.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&content);
  }
  /// Converts an integer too.
  [[nodiscard]] std::optional<double> number() const;
  /// The elements of a list of so many numbers; empty if it is none.
  [[nodiscard]] std::vector<double> numbers(std::size_t count) const;
};

/// As messages show it; a long one is cut.
[[nodiscard]] std::string written(const toml_value& v);

/// A TOML basic string.
[[nodiscard]] std::string quote(std::string_view text);

/// Of a file of the configuration or of the selection, the calibration's table included.
inline constexpr std::size_t most_text_bytes = std::size_t{1} << 20;

/// The whole file. Throws bad_file if it cannot be read, is not a regular file or too long.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// The table of all that stands in the text; `name` is the file's for messages. Throws bad_file.
[[nodiscard]] toml_value parse_toml(std::string_view text, const std::string& name);

} // namespace l3
