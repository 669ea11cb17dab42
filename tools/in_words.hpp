// SPDX-License-Identifier: Apache-2.0
// Times and amounts for people.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace l3 {

/// "2 d 3 h", "14 min", "5 s".
[[nodiscard]] inline std::string in_words(double seconds) {
  constexpr std::uint64_t minute = 60;
  constexpr std::uint64_t hour = 60 * minute;
  constexpr std::uint64_t day = 24 * hour;
  if (seconds > 1000.0 * day) return "years";
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  if (whole >= day) return fmt::format("{} d {} h", whole / day, whole % day / hour);
  if (whole >= hour) return fmt::format("{} h {} min", whole / hour, whole % hour / minute);
  if (whole >= 2 * minute) return fmt::format("{} min", whole / minute);
  return fmt::format("{} s", whole);
}

/// "1 count", "2 counts", of the digitizer.
[[nodiscard]] inline std::string counts_in_words(std::uint32_t counts) {
  return fmt::format("{} count{}", counts, counts == 1 ? "" : "s");
}

} // namespace l3
