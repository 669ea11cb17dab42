// SPDX-License-Identifier: Apache-2.0
// Histograms as an SVG file that needs nothing else: what each input has, as a point over its
// number, then the histograms of events and of counters, with those of a reference in grey.
#pragma once

#include <string>

#include "transport/histograms/histogram_json.hpp"

namespace l3 {

/// `reference`: null if there is none.
[[nodiscard]] std::string draw_histograms(const shown_histograms& h,
                                          const shown_histograms* reference);

} // namespace l3
