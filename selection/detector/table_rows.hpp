// SPDX-License-Identifier: Apache-2.0
// Reads the rows of a text table: fields separated by commas, one header, remarks that begin with
// `#`. Each field knows its line and column for messages; an exception while reading a row is
// reported at the field that was read last.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"

namespace l3 {

/// Removes the byte order mark that programs of other systems put in front of UTF-8. The TOML
/// parser skips it, too.
inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Throws std::runtime_error with a text for people.
template <class... Parts>
[[noreturn]] void refuse_field(fmt::format_string<Parts...> text, Parts&&... parts) {
  throw std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...));
}

class table_rows {
public:
  /// The text must outlive this object.
  table_rows(std::string_view text, std::string name)
      : rest_(without_byte_order_mark(text)), at_{std::move(name)} {}

  /// Moves to the next row that is neither empty nor a remark; returns false if there is none.
  bool next() {
    while (!rest_.empty()) {
      const auto end = rest_.find('\n');
      const std::string_view line = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
      ++at_.line;
      const std::string_view bare = without_space(line);
      if (bare.empty() || bare.front() == '#') continue;
      row_ = bare;
      split(line);
      looked_at_ = 0;
      return true;
    }
    return false;
  }

  [[nodiscard]] std::string_view row() const { return row_; }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  /// The field's text without surrounding spaces.
  [[nodiscard]] std::string_view field(std::size_t n) {
    looked_at_ = n;
    return fields_[n].text;
  }
  /// Returns nothing if the field is empty. Throws std::runtime_error.
  [[nodiscard]] std::optional<double> number(std::size_t n, std::string_view what, double least,
                                             double most) {
    const std::string_view text = field(n);
    if (text.empty()) return std::nullopt;
    double v = 0;
    const auto* const end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, v);
    if (r.ec != std::errc{} || r.ptr != end || !std::isfinite(v))
      refuse_field("{} \"{}\" is not a number; write one such as 0.085", what, text);
    if (!(v >= least && v <= most))
      refuse_field("{} {} is out of range {:g}..{:g}", what, text, least, most);
    return v;
  }
  [[nodiscard]] std::optional<std::uint32_t> count(std::size_t n, std::string_view what,
                                                   std::uint32_t most) {
    const auto v = number(n, what, 0, most);
    if (v && *v != std::floor(*v)) refuse_field("{} {} is not a whole number", what, field(n));
    return v ? std::optional(static_cast<std::uint32_t>(*v)) : std::nullopt;
  }

  /// The place of the field that was read last.
  [[nodiscard]] source_place place() const {
    return {at_.file, at_.line, looked_at_ < fields_.size() ? fields_[looked_at_].column : 0};
  }
  [[nodiscard]] source_place file() const { return {at_.file}; }
  [[nodiscard]] std::uint32_t line() const { return at_.line; }

private:
  struct part {
    std::string_view text;
    std::uint32_t column = 0;
  };

  static std::string_view without_space(std::string_view s) {
    constexpr std::string_view space = " \t\r";
    const auto first = s.find_first_not_of(space);
    return first == std::string_view::npos ? std::string_view{}
                                           : s.substr(first, s.find_last_not_of(space) - first + 1);
  }

  void split(std::string_view line) {
    fields_.clear();
    for (std::size_t from = 0; from <= line.size();) {
      const auto end = std::min(line.find(',', from), line.size());
      const std::string_view bare = without_space(line.substr(from, end - from));
      const auto at = bare.empty() ? from : static_cast<std::size_t>(bare.data() - line.data());
      fields_.push_back({bare, static_cast<std::uint32_t>(at + 1)});
      from = end + 1;
    }
  }

  std::string_view rest_;
  source_place at_; // of the row
  std::string_view row_;
  std::vector<part> fields_;
  std::size_t looked_at_ = 0;
};

} // namespace l3
