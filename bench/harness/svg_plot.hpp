// SPDX-License-Identifier: Apache-2.0
// A plot of lines over two logarithmic axes as an SVG file that needs nothing else: readable on
// light and dark backgrounds, with the names of the lines at their side.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace l3 {

struct plot_line {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< all above 0
};

struct plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<plot_line> lines; ///< at most 12: there are no more colours to tell apart
  bool dots = false;            ///< one at the end of each line
};

[[nodiscard]] std::string to_svg(const plot& p);

} // namespace l3
