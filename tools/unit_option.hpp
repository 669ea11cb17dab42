// SPDX-License-Identifier: Apache-2.0
// Options that take a number and a unit as the configuration does, "64 MiB", "3 s". A bare number
// counts in the option's own unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "config/amount.hpp"

namespace l3 {

/// What an option counts in: so many bytes, ns, or b/s.
struct own_unit {
  dimension what = dimension::size;
  std::uint64_t factor = 1;
  std::string_view name;  ///< "MiB"
  bool fractions = false; ///< the option takes half a unit
};

/// For CLI::Option::transform(): from a number with any unit to the bare number.
[[nodiscard]] inline CLI::Validator in_unit(const own_unit& unit) {
  CLI::Validator v;
  v.operation([unit](std::string& text) -> std::string {
    if (text.find_first_not_of("0123456789.+-eE") == text.npos) return {};
    const auto amount = read_amount(text, unit.what);
    if (!amount)
      return fmt::format(
          "{} is not a number with a unit ({}), nor a bare one of {}, or is too large", text,
          units_of(unit.what), unit.name);
    if (*amount % unit.factor == 0)
      text = fmt::to_string(*amount / unit.factor);
    else if (unit.fractions)
      text = fmt::format("{}", static_cast<double>(*amount) / static_cast<double>(unit.factor));
    else
      return fmt::format("{} is not a whole number of {}", text, unit.name);
    return {};
  });
  return v;
}

} // namespace l3
