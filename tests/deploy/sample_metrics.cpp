// SPDX-License-Identifier: Apache-2.0
// `l3-sample-metrics` prints what a scrape of /metrics looks like: dashboards and alert rules are
// checked against it.
#include <cstdio>

#include "daemon/monitor/metrics.hpp"
#include "tests/daemon/monitor/sample_snapshot.hpp"

int main() { std::fputs(l3::render_metrics(l3::sample_snapshot()).c_str(), stdout); }
