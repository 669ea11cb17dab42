// SPDX-License-Identifier: Apache-2.0
// The pages of the monitoring address: /metrics, /status for programs (JSON), a page for people,
// and short answers for health checks. A new counter is one entry in families.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "daemon/monitor/state.hpp"
#include "monitor/family.hpp"
#include "monitor/http_server.hpp"

namespace l3 {

/// Descriptions of all numbers of a daemon, in the order of /metrics. The number of series depends
/// only on the numbers of inputs and lines.
[[nodiscard]] std::vector<family> families_of(const metrics_snapshot& s);

[[nodiscard]] inline std::string render_metrics(const metrics_snapshot& s) {
  return render_metrics(families_of(s));
}
[[nodiscard]] inline std::string render_status(const metrics_snapshot& s) {
  return render_status(families_of(s));
}

/// The overview page, complete in itself: state, sums, and links to the rest.
[[nodiscard]] std::string render_page(const metrics_snapshot& s);

/// All pages. The HTTP thread calls the functions at each request, so they must not wait for the
/// data path. `stuck` names a thread that makes no progress, or is empty.
[[nodiscard]] http_pages monitor_pages(std::function<metrics_snapshot()> latest,
                                       std::function<state_report()> state,
                                       std::function<std::string()> stuck);

} // namespace l3
