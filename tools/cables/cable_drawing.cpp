// SPDX-License-Identifier: Apache-2.0
#include "tools/cables/cable_drawing.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "monitor/pages.hpp"
#include "tools/figures/drawing_style.hpp"

namespace l3 {
namespace {

constexpr double face = 900; // side of the calorimeter's square
constexpr double margin = 20;
constexpr double names = 120; // width of the counters' names
constexpr double most_box = 14;
constexpr double row_height = 18;
constexpr double legend = 24;

std::string style() {
  return drawing_style(12, R"(  rect.input { stroke: currentColor; stroke-width: 0.3; }
  rect.dead { fill-opacity: 0.15; }
)");
}

/// Each crate of the readout by its own hue, each board a little lighter or darker.
std::string colour_of(const detector& d, input_address at) {
  std::size_t place = 0;
  while (d.crates().crates[place].number != at.crate) ++place;
  constexpr double golden_angle = 137.5; // degrees: neighbours in the list differ
  constexpr int lightest = 65;
  constexpr int step = 12;
  return fmt::format("hsl({:.0f} 60% {}%)",
                     std::fmod(static_cast<double>(place) * golden_angle, 360),
                     lightest - at.slot % 2 * step);
}

std::string box(const detector& d, input_address at, bool dead, double x, double y, double width,
                double height) {
  const std::string name = d.name_of(d.at(d.number_of(at)));
  return fmt::format("<rect class=\"input{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" "
                     "height=\"{:.2f}\" fill=\"{}\"><title>{}, input {}{}</title></rect>\n",
                     dead ? " dead" : "", x, y, width, height, colour_of(d, at), escaped(name),
                     to_string(at), dead ? ", dead" : "");
}

std::string calorimeter_of(const detector& d, double top) {
  double reach = 1;
  for (const crystal& c : d.crystals())
    reach = std::max({reach, std::abs(c.x) + c.size / 2, std::abs(c.y) + c.size / 2});
  const double scale = face / (2 * reach);
  std::string text;
  for (const crystal& c : d.crystals())
    text += box(d, c.at, c.dead, margin + (c.x + reach - c.size / 2) * scale,
                top + (reach - c.y - c.size / 2) * scale, c.size * scale, c.size * scale);
  return text;
}

std::string counters_of(const detector& d, double top) {
  std::string text;
  for (const veto& v : d.vetoes()) {
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", margin, top + row_height * 0.7,
                        v.name);
    const double width = std::min(most_box, (face - names) / v.modules);
    const double height = (row_height - 3) / v.ends;
    for (std::size_t i = 0; i < v.inputs.size(); ++i)
      text +=
          box(d, v.inputs[i], v.dead[i], margin + names + static_cast<double>(i / v.ends) * width,
              top + static_cast<double>(i % v.ends) * height, width, height);
    top += row_height;
  }
  return text;
}

std::string crates_of(const detector& d) {
  std::string text;
  double x = margin;
  for (const crate_readout& c : d.crates().crates) {
    const input_address at{c.number, static_cast<std::uint8_t>(l2::first_slot), 0};
    text += fmt::format("<rect x=\"{:.1f}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{}\"/>"
                        "<text x=\"{:.1f}\" y=\"18\">crate {}</text>\n",
                        x, colour_of(d, at), x + 15, c.number);
    x += face / static_cast<double>(d.crates().size());
  }
  return text;
}

} // namespace

std::string drawing_of(const detector& d) {
  const double top = margin + legend;
  const double rows = top + face + margin;
  const double height = rows + row_height * static_cast<double>(d.vetoes().size()) + margin;
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\">\n{2}"
                     "<rect class=\"paper\" width=\"{0}\" height=\"{1:.0f}\"/>\n{3}{4}{5}</svg>\n",
                     face + 2 * margin, height, style(), crates_of(d), calorimeter_of(d, top),
                     counters_of(d, rows));
}

} // namespace l3
