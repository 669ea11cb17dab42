// SPDX-License-Identifier: Apache-2.0
// `l3-sample-metrics` prints what scrapes of a daemon's and of a receiver's /metrics look like:
// dashboards and alert rules are checked against it.
#include <cstdio>

#include "daemon/monitor/status.hpp"
#include "tests/daemon/monitor/sample_snapshot.hpp"
#include "tests/tools/receive/sample_receive_snapshot.hpp"
#include "tools/receive/receive_snapshot.hpp"

int main() {
  std::fputs(l3::render_metrics(l3::sample_snapshot()).c_str(), stdout);
  std::fputs(l3::render_metrics(l3::families_of(l3::sample_receive_snapshot())).c_str(), stdout);
}
