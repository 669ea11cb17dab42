// SPDX-License-Identifier: Apache-2.0
// For option::check() of integer options. CLI11 alone would take −1, or a number beyond 64 bits,
// for the largest number.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace l3 {

template <std::unsigned_integral Number>
[[nodiscard]] std::string whole_number(const std::string& text) {
  Number n = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, n);
  if (read.ec == std::errc{} && read.ptr == end) return {};
  return fmt::format("{} is no whole number from 0 to {}", text,
                     std::numeric_limits<Number>::max());
}

} // namespace l3
