// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace l3 {
namespace {

constexpr double width = 960;
constexpr double height = 520;
constexpr double left = 80;
constexpr double right = 660; // the names of the lines stand beyond
constexpr double top = 50;
constexpr double bottom = 460;
constexpr double line_of_text = 17;

// Six hues of medium lightness, good on white and on black; the second six are dashed.
constexpr std::array colours{"#d1495b", "#1f8fb5", "#4c9f4a", "#c98a1b", "#8a63c9", "#7d8287"};

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text)
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

constexpr const char* style = R"(<style>
  svg { color: #222; font: 13px sans-serif; }
  .paper { fill: #fff; }
  @media (prefers-color-scheme: dark) { svg { color: #ddd; } .paper { fill: #16181a; } }
  text { fill: currentColor; }
  .grid { stroke: currentColor; stroke-opacity: 0.18; }
  .line { fill: none; stroke-width: 2; }
</style>
)";

/// From whole decade to whole decade.
struct axis {
  double from = 0; ///< logarithms to base 10
  double to = 1;
  double begin = 0; ///< on the paper
  double end = 0;

  axis(double smallest, double largest, double paper_begin, double paper_end)
      : from(std::floor(std::log10(smallest))), to(std::ceil(std::log10(largest))),
        begin(paper_begin), end(paper_end) {
    if (to <= from) to = from + 1;
  }
  [[nodiscard]] double at(double value) const {
    return begin + (std::log10(value) - from) / (to - from) * (end - begin);
  }
};

std::string decade(int exponent) {
  return fmt::format(R"(10<tspan dy="-5" font-size="10">{}</tspan>)", exponent);
}

template <class... Args>
void append(std::string& svg, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(svg), format, std::forward<Args>(args)...);
}

void add_line(std::string& svg, double x1, double y1, double x2, double y2) {
  append(svg, "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
         x1, y1, x2, y2);
}

void add_text(std::string& svg, double x, double y, std::string_view attributes,
              const std::string& text) {
  append(svg, "<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, text);
}

void add_grid(std::string& svg, const axis& x, const axis& y) {
  for (int d = static_cast<int>(x.from); d <= x.to; ++d) {
    const double at = x.at(std::pow(10.0, d));
    add_line(svg, at, top, at, bottom);
    add_text(svg, at, bottom + line_of_text, R"(text-anchor="middle")", decade(d));
  }
  for (int d = static_cast<int>(y.from); d <= y.to; ++d) {
    const double at = y.at(std::pow(10.0, d));
    add_line(svg, left, at, right, at);
    add_text(svg, left - 8, at + 4, R"(text-anchor="end")", decade(d));
  }
}

/// Where the names stand: each beside the end of its line, but never on top of each other.
std::vector<double> places_of_names(const plot& p, const axis& y) {
  std::vector<std::size_t> order;
  std::vector<double> places(p.lines.size(), bottom);
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    order.push_back(i);
    if (!p.lines[i].points.empty()) places[i] = y.at(p.lines[i].points.back().second);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  double next = top;
  for (const std::size_t i : order) {
    places[i] = std::max(places[i], next);
    next = places[i] + line_of_text;
  }
  return places;
}

} // namespace

std::string to_svg(const plot& p) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double x_low = infinity, x_high = 0, y_low = infinity, y_high = 0;
  for (const plot_line& line : p.lines) {
    for (const auto& [x, y] : line.points) {
      x_low = std::min(x_low, x);
      x_high = std::max(x_high, x);
      y_low = std::min(y_low, y);
      y_high = std::max(y_high, y);
    }
  }
  if (x_high == 0) x_low = y_low = 1, x_high = y_high = 10;
  const axis x(x_low, x_high, left, right);
  const axis y(y_low, y_high, bottom, top);

  std::string svg;
  append(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\">\n", width, height);
  svg += style;
  append(svg, "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", width, height);
  add_text(svg, left, 26, R"(font-size="16")", escaped(p.title));
  add_grid(svg, x, y);
  constexpr auto turned = R"x(text-anchor="middle" transform="translate(22 {:.1f}) rotate(-90)")x";
  add_text(svg, (left + right) / 2, bottom + 3 * line_of_text, R"(text-anchor="middle")",
           escaped(p.x_label));
  add_text(svg, 0, 0, fmt::format(turned, (top + bottom) / 2), escaped(p.y_label));

  const auto names = places_of_names(p, y);
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    const char* const colour = colours[i % colours.size()];
    append(svg, "<polyline class=\"line\" stroke=\"{}\"{} points=\"", colour,
           i < colours.size() ? "" : " stroke-dasharray=\"6 4\"");
    for (const auto& [px, py] : p.lines[i].points)
      append(svg, "{:.1f},{:.1f} ", x.at(px), y.at(py));
    svg += "\"/>\n";
    if (p.dots && !p.lines[i].points.empty()) {
      const auto& [px, py] = p.lines[i].points.back();
      append(svg, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x.at(px), y.at(py),
             colour);
    }
    add_text(svg, right + 10, names[i] + 4, fmt::format(R"(style="fill:{}")", colour),
             escaped(p.lines[i].name));
  }
  return svg + "</svg>\n";
}

} // namespace l3
