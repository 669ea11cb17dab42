// SPDX-License-Identifier: Apache-2.0
// Texts of times, amounts and runs for people.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
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

/// "run 7", "runs 7, 8 and 12"; a long list ends with the number of the others.
[[nodiscard]] inline std::string runs_in_words(const std::set<std::uint32_t>& runs) {
  constexpr std::size_t most = 10;
  if (runs.size() == 1) return fmt::format("run {}", *runs.begin());
  std::string text = "runs ";
  std::size_t told = 0;
  for (auto run = runs.begin(); run != runs.end() && told < most; ++run, ++told) {
    const bool last = told + 1 == runs.size();
    text += fmt::format("{}{}", told == 0 ? "" : last ? " and " : ", ", *run);
  }
  return told == runs.size() ? text : text + fmt::format(" and {} more", runs.size() - told);
}

} // namespace l3
