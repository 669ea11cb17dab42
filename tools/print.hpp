// SPDX-License-Identifier: Apache-2.0
// Output of the commands for people. Values may be arguments, file names or text from files:
// anything that would control the terminal or begin a new line is escaped. JSON is for programs: it
// has its own escapes, and must be UTF-8 for any name. Data of filters do not use this.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {

/// A value of several lines, such as a table, whose line ends stay.
struct text_lines {
  std::string text;
};

/// The printable form of a value; values that are no text stay unchanged.
template <class Value>
decltype(auto) plain_value(Value&& value) {
  if constexpr (std::same_as<std::remove_cvref_t<Value>, text_lines>)
    return std::string_view(value.text);
  else if constexpr (std::convertible_to<Value, std::string_view>)
    return plain_line(value);
  else
    return std::forward<Value>(value);
}

template <class... Values>
using plain_format =
    fmt::format_string<std::remove_cvref_t<decltype(plain_value(std::declval<Values>()))>...>;

/// Formats a text that is safe for a terminal.
template <class... Values>
[[nodiscard]] std::string plain_text_of(plain_format<Values...> text, Values&&... values) {
  const auto formatted = [&](const auto&... plain) {
    return fmt::vformat(fmt::string_view(text), fmt::make_format_args(plain...));
  };
  return plain_lines(formatted(plain_value(std::forward<Values>(values))...));
}

class line_writer;

/// All messages of a running command go through it.
[[nodiscard]] line_writer& standard_error();

/// Writes to standard error without waiting for a reader or a disk.
void write_error(std::string_view text);

template <class... Values>
void print_error(plain_format<Values...> text, Values&&... values) {
  write_error(plain_text_of<Values...>(text, std::forward<Values>(values)...));
}

/// Writes to standard output.
template <class... Values>
void print_plain(plain_format<Values...> text, Values&&... values) {
  fmt::print("{}", plain_text_of<Values...>(text, std::forward<Values>(values)...));
}

/// Writes JSON, or a part of it, to standard output.
template <class... Values>
void print_json(fmt::format_string<Values...> text, Values&&... values) {
  fmt::print("{}", json_in_utf8(fmt::format(text, std::forward<Values>(values)...)));
}

/// Appends formatted text. fmt::format_to would compile all of fmt in each source.
template <class... Values>
void append(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
  text += fmt::format(format, std::forward<Values>(values)...);
}

} // namespace l3
