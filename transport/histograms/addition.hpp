// SPDX-License-Identifier: Apache-2.0
// Adds histograms read from documents: of the spills of a run, or of the nodes of a farm.
#pragma once

#include <string>

#include "transport/histograms/histogram_json.hpp"

namespace l3 {

/// Adds `more` to `to`. Returns why the two cannot be added, or an empty string.
[[nodiscard]] std::string add(shown_histograms& to, const shown_histograms& more);

} // namespace l3
