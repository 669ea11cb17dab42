// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/waveform_drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "monitor/pages.hpp"
#include "tools/figures/drawing_style.hpp"
#include "tools/print.hpp"

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

/// 0 … steps, of the range of the waveform; noise of a few counts does not fill it.
int level_of(double value, const inspected_channel& c, int steps) {
  constexpr double least_range = 16;
  const double range = std::max<double>(c.most - c.least, least_range);
  return static_cast<int>(std::lround((value - c.least) / range * steps));
}

std::string title_of(const inspected_channel& c) {
  return c.name.empty() ? to_string(c.at) : fmt::format("{} {}", to_string(c.at), c.name);
}

std::string style() {
  return drawing_style(11, R"(  .frame { fill: none; stroke: currentColor; stroke-opacity: 0.25; }
  .wave { fill: none; stroke: #1f8fb5; stroke-width: 1.4; }
)");
}

constexpr double panel_width = 300;
constexpr double panel_height = 150;
constexpr double margin = 44;

void add_panel(std::string& svg, double x, double y, const inspected_channel& c) {
  constexpr double width = panel_width - margin - 8;
  constexpr double height = panel_height - 48;
  constexpr double least_range = 16;
  const double left = x + margin;
  const double top = y + 22;
  const double range = std::max<double>(c.most - c.least, least_range);
  append(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left, y + 14, escaped(title_of(c)));
  append(svg,
         "<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
         left, top, width, height);
  const auto label = [&](double at, double value) {
    append(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>\n", left - 4, at,
           value);
  };
  label(top + 9, c.least + range);
  label(top + height, c.least);
  append(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f} ns</text>\n",
         left + width, top + height + 13, c.step() * static_cast<double>(c.samples.size()));
  append(svg, "<polyline class=\"wave\" points=\"");
  const double last = static_cast<double>(std::max<std::size_t>(c.samples.size(), 2) - 1);
  for (std::size_t i = 0; i < c.samples.size(); ++i)
    append(svg, "{:.1f},{:.1f} ", left + width * static_cast<double>(i) / last,
           top + height * (1 - (c.samples[i] - c.least) / range));
  svg += "\"/>\n";
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

std::string svg_drawing(const std::string& title, std::span<const inspected_channel> channels) {
  constexpr std::size_t across = 4;
  constexpr double heading = 34;
  const auto rows = (channels.size() + across - 1) / across;
  const double width =
      panel_width * static_cast<double>(std::clamp<std::size_t>(channels.size(), 1, across));
  const double height = heading + panel_height * static_cast<double>(rows);
  std::string svg;
  append(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\">\n", width, height);
  svg += style();
  append(svg, "<title>{}</title>\n", escaped(title));
  append(svg, "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", width, height);
  append(svg, "<text x=\"12\" y=\"22\" font-size=\"14\">{}</text>\n", escaped(title));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::size_t row = i / across;
    add_panel(svg, panel_width * static_cast<double>(i % across),
              heading + panel_height * static_cast<double>(row), channels[i]);
  }
  return svg + "</svg>\n";
}

} // namespace l3
