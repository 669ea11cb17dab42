// SPDX-License-Identifier: Apache-2.0
// Run control over HTTP and JSON (docs/run-control.md, deploy/run-control.openapi.json): what a
// person or a program asks for, and why it cannot be. Its functions are called on the HTTP server's
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/monitor/snapshot.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/run_host.hpp"
#include "daemon/settings.hpp"
#include "monitor/http_server.hpp"

namespace l3 {

/// Why no run can begin now, a sentence each: the receiver is absent, a crate is silent while
/// others send, a disk is short, the menu has mistakes. `s`: the newest snapshot. Looks up a name
/// and opens a connection, for two seconds at most.
[[nodiscard]] std::vector<std::string> reasons_against(const run_order& order,
                                                       const daemon_settings& settings,
                                                       const metrics_snapshot& s,
                                                       const run_host& host);

class run_api {
public:
  /// All must outlive the server that serves the pages.
  run_api(const daemon_settings& settings, run_control& control, const run_host& host,
          std::function<metrics_snapshot()> latest)
      : settings_(settings), control_(control), host_(host), latest_(std::move(latest)) {}

  [[nodiscard]] http_pages pages() const;
  [[nodiscard]] http_actions actions();

private:
  [[nodiscard]] http_response status(unsigned code, const run_control::report& now) const;
  [[nodiscard]] http_response start(std::string_view body);
  [[nodiscard]] http_response stop(std::string_view body);

  const daemon_settings& settings_;
  run_control& control_;
  const run_host& host_;
  std::function<metrics_snapshot()> latest_;
};

} // namespace l3
