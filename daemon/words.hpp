// SPDX-License-Identifier: Apache-2.0
// Parts of a daemon's messages: sizes, lists of names, and configuration keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transport/system/reason_of.hpp"

namespace l3 {

/// A size of memory or of a disk: "950.0 MB", "1.5 GB".
[[nodiscard]] inline std::string size_in_words(std::uint64_t bytes) {
  constexpr std::uint64_t mega = 1'000'000;
  constexpr std::uint64_t giga = 1000 * mega;
  const bool large = bytes >= giga;
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / (large ? giga : mega),
                     large ? "GB" : "MB");
}

/// Shortens a long list: "0/3/7, 0/3/8 and 12 more".
[[nodiscard]] inline std::string first_names(std::span<const std::string> names) {
  constexpr std::size_t most = 8;
  const std::size_t told = std::min(names.size(), most);
  std::string text = fmt::format("{}", fmt::join(names.first(told), ", "));
  if (told < names.size()) text += fmt::format(" and {} more", names.size() - told);
  return text;
}

/// Calls `start` and appends " (KEY)" to the text of a std::runtime_error. The parts that throw get
/// settings and do not know the configuration's keys.
template <class Start>
void naming_key(const char* key, const Start& start) {
  try {
    start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(reason_of(error) + " (" + key + ")");
  }
}

} // namespace l3
