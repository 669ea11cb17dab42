// SPDX-License-Identifier: Apache-2.0
// Adds up histograms as documents have them: of the spills of a run, of the nodes of a farm.
#pragma once

#include <string>

#include "transport/histograms/histogram_json.hpp"

namespace l3 {

/// Why the two do not count the same, and cannot be added; empty: `more` is in `to` now.
[[nodiscard]] std::string add(shown_histograms& to, const shown_histograms& more);

} // namespace l3
