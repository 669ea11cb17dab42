// SPDX-License-Identifier: Apache-2.0
#include "tools/histograms/histogram_drawing.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "monitor/pages.hpp"
#include "tools/figures/drawing_style.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

std::string style() {
  return drawing_style(11, R"(  .frame { fill: none; stroke: currentColor; stroke-opacity: 0.25; }
  .now { fill: none; stroke: #1f8fb5; stroke-width: 1.2; }
  .before { fill: none; stroke: #7d8287; stroke-width: 1; }
  .inputs { fill: none; stroke: #1f8fb5; stroke-width: 2; stroke-linecap: round; }
)");
}

constexpr double panel_width = 300;
constexpr double panel_height = 140;
constexpr double margin = 46;
constexpr std::size_t panels_a_row = 4;

/// Where the next panel goes, and its frame with the numbers at its edges.
class sheet {
public:
  struct range {
    double low = 0;
    double high = 1;
  };

  struct panel {
    double left, top;
    range x, y;

    [[nodiscard]] double at_x(double v) const {
      return left + (v - x.low) / (x.high - x.low) * panel_width;
    }
    [[nodiscard]] double at_y(double v) const {
      const double share = (v - y.low) / (y.high - y.low);
      return top + (1 - std::clamp(share, 0.0, 1.0)) * panel_height;
    }
  };

  panel add(const std::string& title, range x, range y) {
    const auto column = static_cast<double>(panels_ % panels_a_row);
    const auto row = static_cast<double>(panels_ / panels_a_row);
    ++panels_;
    if (!(x.high > x.low)) x.high = x.low + 1;
    if (!(y.high > y.low)) y.high = y.low + 1;
    const panel p{margin + column * (panel_width + margin), margin + row * (panel_height + margin),
                  x, y};
    append(svg, R"(<rect class="frame" x="{:.1f}" y="{:.1f}" width="{}" height="{}"/>)", p.left,
           p.top, panel_width, panel_height);
    append(svg, R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", p.left, p.top - 5, escaped(title));
    const double below = p.top + panel_height + 12;
    append(svg, R"(<text x="{:.1f}" y="{:.1f}">{:g}</text>)", p.left, below, x.low);
    append(svg, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:g}</text>)",
           p.left + panel_width, below, x.high);
    append(svg, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:.3g}</text>)", p.left - 3,
           p.top + 9, y.high);
    append(svg, R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:.3g}</text>)", p.left - 3,
           p.top + panel_height, y.low);
    svg += '\n';
    return p;
  }

  [[nodiscard]] std::string finish() const {
    const auto rows = static_cast<double>((panels_ + panels_a_row - 1) / panels_a_row);
    std::string all = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\">\n",
        margin + panels_a_row * (panel_width + margin), margin + rows * (panel_height + margin));
    return all + style() + "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + svg +
           "</svg>\n";
  }

  std::string svg;

private:
  std::size_t panels_ = 0;
};

using property = std::optional<double> (*)(const channel_sums&);

void draw_inputs(sheet& to, const shown_histograms& h, const char* title, property of) {
  std::vector<std::pair<double, double>> points;
  double high = 0;
  double low = 0;
  for (std::size_t i = 0; i < h.channels.size(); ++i) {
    const auto value = of(h.channels[i]);
    if (!value) continue;
    points.emplace_back(static_cast<double>(i), *value);
    high = std::max(high, *value);
    low = std::min(low, *value);
  }
  const auto p = to.add(title, {0, static_cast<double>(h.channels.size())}, {low, high * 1.05});
  to.svg += R"(<path class="inputs" d=")";
  for (const auto& [x, y] : points) append(to.svg, "M{:.1f} {:.1f}h0", p.at_x(x), p.at_y(y));
  to.svg += "\"/>\n";
}

/// Steps along the tops of the bins; `scale` makes a reference comparable.
void draw_steps(sheet& to, const sheet::panel& p, const named_histogram& h, const char* style_of,
                double scale) {
  append(to.svg, R"(<path class="{}" d="M{:.1f} {:.1f})", style_of, p.at_x(h.low), p.at_y(0));
  for (std::size_t k = 0; k < h.bins(); ++k) {
    append(to.svg, "V{:.1f}H{:.1f}", p.at_y(static_cast<double>(h.counts[k + 1]) * scale),
           p.at_x(h.low + h.width * static_cast<double>(k + 1)));
  }
  append(to.svg, "V{:.1f}\"/>\n", p.at_y(0));
}

void draw(sheet& to, const named_histogram& h, const named_histogram* before, double scale) {
  const auto highest = [](const named_histogram& of) {
    return static_cast<double>(*std::max_element(of.counts.begin() + 1, of.counts.end() - 1));
  };
  double high = highest(h);
  if (before != nullptr) high = std::max(high, scale * highest(*before));
  const std::string title =
      fmt::format("{}{}{}{}", h.name, h.unit.empty() ? "" : ", ", h.unit,
                  h.counts.front() + h.counts.back() == 0
                      ? ""
                      : fmt::format(" ({} below, {} above)", h.counts.front(), h.counts.back()));
  const auto p =
      to.add(title, {h.low, h.low + h.width * static_cast<double>(h.bins())}, {0, high * 1.05});
  if (before != nullptr) draw_steps(to, p, *before, "before", scale);
  draw_steps(to, p, h, "now", 1);
}

void draw_all(sheet& to, const std::vector<named_histogram>& all,
              const std::vector<named_histogram>* before, double scale) {
  for (const named_histogram& h : all) {
    const named_histogram* same = nullptr;
    if (before != nullptr) {
      const auto found = std::ranges::find(*before, h.name, &named_histogram::name);
      if (found != before->end()) same = &*found;
    }
    draw(to, h, same, scale);
  }
}

} // namespace

std::string draw_histograms(const shown_histograms& h, const shown_histograms* reference) {
  sheet to;
  draw_inputs(to, h, "pedestal by input, counts", pedestal_of);
  draw_inputs(to, h, "noise by input, counts rms", noise_of);
  draw_inputs(to, h, "occupancy by input", occupancy_of);
  draw_inputs(to, h, "mean time by input, ns", mean_time_of);
  const double scale = reference == nullptr || reference->events == 0
                           ? 1
                           : static_cast<double>(h.events) / static_cast<double>(reference->events);
  draw_all(to, h.histograms, reference == nullptr ? nullptr : &reference->histograms, scale);
  draw_all(to, h.counters, reference == nullptr ? nullptr : &reference->counters, scale);
  return to.finish();
}

} // namespace l3
