// SPDX-License-Identifier: Apache-2.0
// Lists of numbers as the kernel writes those of processors and ports: "0-3,8".
#pragma once

#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l3 {

/// The numbers of a list in their order; empty for any other form or a number above `most`.
[[nodiscard]] inline std::vector<int> read_number_list(std::string_view text, int most) {
  const auto take_number = [&text] { // -1: there is none
    int n = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n < 0) return -1;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return n;
  };
  std::vector<int> found;
  while (!text.empty()) {
    const int first = take_number();
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number();
    }
    if (first < 0 || last < first || last > most) return {};
    for (int n = first; n <= last; ++n) found.push_back(n);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  return found;
}

/// The list of these ascending numbers.
[[nodiscard]] inline std::string show_number_list(std::span<const int> numbers) {
  std::string text;
  for (std::size_t n = 0; n < numbers.size();) {
    std::size_t last = n;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[n]);
    if (last != n) text += "-" + std::to_string(numbers[last]);
    n = last + 1;
  }
  return text;
}

} // namespace l3
