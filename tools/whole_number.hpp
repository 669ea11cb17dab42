// SPDX-License-Identifier: Apache-2.0
// For option::check() of integer options. CLI11 alone would take −1, or a number beyond 64 bits,
// for the largest number.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace l3 {

template <std::unsigned_integral Number>
[[nodiscard]] std::string whole_number(const std::string& text) {
  Number n = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, n);
  if (read.ec == std::errc{} && read.ptr == end) return {};
  return fmt::format("{} is not a whole number from 0 to {}", text,
                     std::numeric_limits<Number>::max());
}

// The form of real numbers in options: finite, in decimal digits, with an optional sign and
// exponent. CLI11 also accepts hexadecimal ones, infinity and not-a-number.

[[nodiscard]] inline std::optional<double> read_real_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// For option::check().
[[nodiscard]] inline std::string real_number(const std::string& text) {
  return read_real_number(text) ? "" : text + " is not a finite decimal number";
}

} // namespace l3
