// SPDX-License-Identifier: Apache-2.0
// An evaluation as figures: self-contained SVG files.
#pragma once

#include <string>
#include <vector>

#include "tools/evaluate/evaluation.hpp"

namespace l3 {

struct figure_file {
  std::string name;
  std::string svg;
};

/// kept.svg: the kept part of each true type; resolution.svg: energy, position and time against the
/// photon's energy.
[[nodiscard]] std::vector<figure_file> figures_of(const evaluation& e);

} // namespace l3
