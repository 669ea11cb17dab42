// SPDX-License-Identifier: Apache-2.0
// Run control over HTTP and JSON (docs/run-control.md, deploy/run-control.openapi.json), for people
// and programs, for this node or all nodes of its farm. The HTTP server's thread calls its
// functions.
#pragma once

#include <functional>

#include "config/settings.hpp"
#include "daemon/farm/farm_member.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/run_host.hpp"
#include "monitor/http_server.hpp"

namespace l3 {

class run_api {
public:
  /// All arguments must outlive the server that serves the pages. `farm`: null if this node is
  /// alone.
  run_api(const daemon_settings& settings, run_control& control, const run_host& host,
          std::function<metrics_snapshot()> latest, farm_member* farm = nullptr)
      : settings_(settings), control_(control), host_(host), latest_(std::move(latest)),
        farm_(farm) {}

  [[nodiscard]] http_pages pages() const;
  [[nodiscard]] http_actions actions();

private:
  struct start_request {
    farm_wish wish;
    bool here = false; ///< on this node only
  };
  [[nodiscard]] start_request read_start(std::string_view body) const;
  [[nodiscard]] http_response ask_all(const farm_wish& wish);
  [[nodiscard]] http_response status(unsigned code, const std::optional<farm_report>& of_all,
                                     const run_control::report& now) const;
  [[nodiscard]] std::optional<farm_report> of_all() const;
  [[nodiscard]] http_response start(std::string_view body);
  [[nodiscard]] http_response stop(std::string_view body);

  const daemon_settings& settings_;
  run_control& control_;
  const run_host& host_;
  std::function<metrics_snapshot()> latest_;
  farm_member* farm_;
};

} // namespace l3
