// SPDX-License-Identifier: Apache-2.0
// A list of names in a sentence, however long the list is: the first ones, and how many more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace l3 {

/// "0/3/7, 0/3/8 and 12 more".
[[nodiscard]] inline std::string first_names(std::span<const std::string> names) {
  constexpr std::size_t most = 8;
  const std::size_t told = std::min(names.size(), most);
  std::string text = fmt::format("{}", fmt::join(names.first(told), ", "));
  if (told < names.size()) text += fmt::format(" and {} more", names.size() - told);
  return text;
}

} // namespace l3
