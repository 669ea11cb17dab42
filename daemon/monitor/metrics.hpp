// SPDX-License-Identifier: Apache-2.0
// What a daemon tells about itself: the description of each of its numbers. A new counter is one
// entry of families.cpp.
#pragma once

#include <string>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/family.hpp"

namespace l3 {

/// In the order of /metrics. The number of series depends on those of inputs and lines only.
[[nodiscard]] std::vector<family> families_of(const metrics_snapshot& s);

[[nodiscard]] inline std::string render_metrics(const metrics_snapshot& s) {
  return render_metrics(families_of(s));
}
[[nodiscard]] inline std::string render_status(const metrics_snapshot& s) {
  return render_status(families_of(s));
}

} // namespace l3
