// SPDX-License-Identifier: Apache-2.0
// What the monitoring address serves beside /metrics: /status for programs (JSON), a page for
// people, and the short answers for health checks.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "daemon/monitor/snapshot.hpp"
#include "daemon/monitor/state.hpp"
#include "monitor/http_server.hpp"

namespace l3 {

/// A page of its own (nothing is loaded from elsewhere): state, sums, and links to the rest.
[[nodiscard]] std::string render_page(const metrics_snapshot& s);

/// All pages. The functions are called on the HTTP thread at each request and must not wait for the
/// data path; `stuck` names a thread that makes no progress, or is empty.
[[nodiscard]] http_pages monitor_pages(std::function<metrics_snapshot()> latest,
                                       std::function<state_report()> state,
                                       std::function<std::string()> stuck);

} // namespace l3
