// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluation_figures.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tools/figures/drawing_style.hpp"
#include "tools/figures/svg_plot.hpp"

namespace l3 {
namespace {

constexpr double percent = 100;

// A bar for each true type.
constexpr double width = 760;
constexpr double bar_left = 130;
constexpr double bar_right = 640;
constexpr double bar_height = 16;
constexpr double row_height = 26;
constexpr double top = 60;

std::string style() {
  return drawing_style(13, R"(  .all { fill: currentColor; fill-opacity: 0.12; }
  .kept { fill: #1f8fb5; }
  .error { stroke: currentColor; stroke-width: 1.5; }
)");
}

std::string kept_figure(const evaluation& e) {
  std::string rows;
  double y = top;
  const auto at = [](double share) { return bar_left + share * (bar_right - bar_left); };
  for (std::size_t t = 0; t < evaluation::types; ++t) {
    const evaluation::row& r = e.by_type[t];
    if (r.events == 0) continue;
    const proportion p{r.kept, r.events};
    const double middle = y + bar_height / 2;
    rows += fmt::format(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)", bar_left - 8,
                        middle + 4, name_of(static_cast<event_type>(t)));
    rows +=
        fmt::format(R"(<rect class="all" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.0f}"/>)",
                    bar_left, y, bar_right - bar_left, bar_height);
    rows +=
        fmt::format(R"(<rect class="kept" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.0f}"/>)",
                    bar_left, y, at(p.value()) - bar_left, bar_height);
    rows += fmt::format(R"(<line class="error" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
                        at(p.lower()), at(p.upper()), middle, middle);
    rows += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\">{:.1f} % of {}</text>\n", bar_right + 8,
                        middle + 4, percent * p.value(), r.events);
    y += row_height;
  }
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}">
{2}<rect class="paper" width="{0:.0f}" height="{1:.0f}"/>)"
                     R"(<text x="{3:.0f}" y="30" font-size="16">events kept, by true type )"
                     "({4:.1f} % of all)</text>\n{5}</svg>\n",
                     width, y + 10, style(), bar_left, percent * e.kept().value(), rows);
}

std::string resolution_figure(const evaluation& e) {
  plot p{"photons: rms around the truth",
         "energy of the photon / MeV",
         "rms",
         {{"energy, %", {}}, {"x, mm", {}}, {"y, mm", {}}, {"time, ns", {}}}};
  for (const photon_resolution& r : e.photons) {
    if (r.energy.n == 0) continue;
    const double energy = std::sqrt(r.from * r.to);
    const double values[] = {percent * r.energy.rms(), r.x.rms(), r.y.rms(), r.time.rms()};
    for (std::size_t k = 0; k < p.lines.size(); ++k)
      if (values[k] > 0) p.lines[k].points.emplace_back(energy, values[k]);
  }
  std::erase_if(p.lines, [](const plot_line& line) { return line.points.empty(); });
  return p.lines.empty() ? std::string() : to_svg(p);
}

} // namespace

std::vector<figure_file> figures_of(const evaluation& e) {
  std::vector<figure_file> figures{{"kept.svg", kept_figure(e)}};
  if (std::string svg = resolution_figure(e); !svg.empty())
    figures.push_back({"resolution.svg", std::move(svg)});
  return figures;
}

} // namespace l3
