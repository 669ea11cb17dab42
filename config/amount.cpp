// SPDX-License-Identifier: Apache-2.0
#include "config/amount.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace l3 {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
  bool shown = true; // false: accepted as input but never chosen for output
};

constexpr std::array size_units{
    unit{"B", 1},
    unit{"kB", 1000, false},
    unit{"KiB", 1ULL << 10},
    unit{"MB", 1'000'000, false},
    unit{"MiB", 1ULL << 20},
    unit{"GB", 1'000'000'000, false},
    unit{"GiB", 1ULL << 30},
};
constexpr std::array duration_units{
    unit{"ns", 1},
    unit{"us", 1000},
    unit{"ms", 1'000'000},
    unit{"s", 1'000'000'000},
    unit{"min", 60'000'000'000, false},
};
constexpr std::array rate_units{
    unit{"b/s", 1},
    unit{"kb/s", 1000},
    unit{"Mb/s", 1'000'000},
    unit{"Gb/s", 1'000'000'000},
};

std::span<const unit> units(dimension d) {
  switch (d) {
  case dimension::size: return size_units;
  case dimension::duration: return duration_units;
  case dimension::rate: return rate_units;
  }
  return {};
}

// Doubles hold integers exactly up to here, far above any setting.
constexpr double largest_exact = 9007199254740992.0;

} // namespace

std::optional<std::uint64_t> read_amount(std::string_view text, dimension d) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || std::signbit(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const unit& u : units(d)) {
    if (text != u.name) continue;
    const double value = number * static_cast<double>(u.factor);
    if (!(value <= largest_exact)) return std::nullopt;
    const double whole = std::round(value);
    // "0.3 us" is 300 ns although 0.3 is no binary fraction; "0.5 ns" is not a whole number of ns.
    if (std::abs(value - whole) > 1e-6 * std::max(1.0, whole / largest_exact)) return std::nullopt;
    return static_cast<std::uint64_t>(whole);
  }
  return std::nullopt;
}

std::string show_amount(std::uint64_t value, dimension d) {
  unit best = units(d).front();
  for (const unit& u : units(d)) {
    if (u.shown && value != 0 && value % u.factor == 0) best = u;
  }
  return fmt::format("{} {}", value / best.factor, best.name);
}

std::string units_of(dimension d) {
  std::vector<std::string_view> names;
  for (const unit& u : units(d)) names.push_back(u.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace l3
