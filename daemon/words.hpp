// SPDX-License-Identifier: Apache-2.0
// Pieces of the sentences that a daemon says: sizes, lists of names, and the key to look at.
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

/// However long the list is: "0/3/7, 0/3/8 and 12 more".
[[nodiscard]] inline std::string first_names(std::span<const std::string> names) {
  constexpr std::size_t most = 8;
  const std::size_t told = std::min(names.size(), most);
  std::string text = fmt::format("{}", fmt::join(names.first(told), ", "));
  if (told < names.size()) text += fmt::format(" and {} more", names.size() - told);
  return text;
}

/// Calls `start`; appends " (KEY)" to the text of a std::runtime_error. The parts that throw do not
/// know the key of the configuration: they get settings, not the file.
template <class Start>
void naming_key(const char* key, const Start& start) {
  try {
    start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(reason_of(error) + " (" + key + ")");
  }
}

} // namespace l3
