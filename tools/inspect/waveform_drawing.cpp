// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/waveform_drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::size_t columns = 64;

/// The highest sample of each column.
std::vector<std::uint16_t> columns_of(const inspected_channel& c) {
  const std::size_t each = (c.samples.size() + columns - 1) / columns;
  std::vector<std::uint16_t> highest;
  for (std::size_t i = 0; i < c.samples.size(); i += each)
    highest.push_back(
        *std::ranges::max_element(c.samples.subspan(i, std::min(each, c.samples.size() - i))));
  return highest;
}

/// Level 0 … steps within the range of the waveform; noise of a few counts does not fill it.
int level_of(double value, const inspected_channel& c, int steps) {
  constexpr double least_range = 16;
  const double range = std::max<double>(c.most - c.least, least_range);
  return static_cast<int>(std::lround((value - c.least) / range * steps));
}

} // namespace

std::string line_drawing(const inspected_channel& c) {
  std::string line;
  for (const std::uint16_t sample : columns_of(c)) {
    const auto level = static_cast<std::size_t>(level_of(sample, c, 7));
    line += blocks[level + 1];
  }
  return line;
}

std::string block_drawing(const inspected_channel& c) {
  constexpr int lines = 8;
  const auto highest = columns_of(c);
  std::string text;
  for (int line = lines - 1; line >= 0; --line) {
    std::string label;
    if (line == lines - 1) label = fmt::to_string(c.most);
    if (line == 0) label = fmt::to_string(c.least);
    text += fmt::format("    {:>6} │", label);
    for (const std::uint16_t sample : highest) {
      const int level = level_of(sample, c, lines * 8 - 1) + 1;
      text += blocks[static_cast<std::size_t>(std::clamp(level - 8 * line, 0, 8))];
    }
    text += '\n';
  }
  return text + fmt::format("           └ 0 … {:.0f} ns\n",
                            c.step() * static_cast<double>(c.samples.size()));
}

} // namespace l3
