// SPDX-License-Identifier: Apache-2.0
// `l3-metrics-reference` prints docs/metrics.md, or a file with a part about the daemon's troubles:
// `l3-metrics-reference alerts|alerts-test|runbook FILE`.
#include <cstdio>

#include "daemon/monitor/status.hpp"
#include "daemon/monitor/troubles.hpp"
#include "monitor/trouble_reference.hpp"

namespace l3 {
namespace {

constexpr const char* head = R"(# Metrics and status

<!-- Made by l3-metrics-reference from the descriptions in daemon/monitor/families.cpp. -->

`koto-l3d` answers at the address of `monitor.bind`: `/metrics` in the text format of Prometheus,
`/status` as one JSON object, both at most half a second old. Counters begin at 0 with each start of
the daemon and, with `run.control`, with each run, except those of the process, of reloads and of
log lines, and `koto_l3_no_run_datagrams_total`. Sizes are in bytes and durations in seconds.

`/healthz` and `/readyz` answer 200 or 503, `/runbook` is the runbook, and `/history` has the events
admitted, kept and stored a second of the last ten minutes (`points`, one every `step` seconds). The
page shows kept events from `/events`, `/event/0` to `/event/15` and `/detector`, which
`selection/display/event.js` describes. `/histograms` has the histograms of the run
([formats](formats.md#16-histograms-in-blocks-histograms-koto-l3-histograms---save)).

## Metrics

A label whose values are not listed takes those of the configuration: `link` names an input (`udp0`,
`udp1`, …, `tcp0`, …), `line` a trigger line, `crate` a crate by its number. A metric is absent
without its spool, selection, farm, reference or histograms. The usual `process_…` metrics of
Prometheus' clients are there, too.

The key of `/status` holds the same number; 1 or 0 is true or false there. A name in braces stands
for each value of that label. `links`, `crates` and `lines` are arrays with one object for each
value, which its key `link`, `crate` or `line` holds. `spool` is null without a spool, `farm`
without `farm.etcd`, `problem` while nothing is wrong, `inputs_changed` and `histograms_changed`
without a reference.

)";

} // namespace
} // namespace l3

int main(int argc, char** argv) {
  using namespace l3;
  if (argc == 3) {
    const std::vector<trouble_row> rows = rows_of(daemon_troubles());
    return print_with_troubles({"koto-l3d", rows, "koto_l3_trouble", "koto_l3_trouble_events"},
                               argv[1], argv[2]);
  }
  metrics_snapshot s; // every closed list of a snapshot has its names
  s.lines.emplace_back();
  s.farm.emplace();
  add_input(s.account, {});
  set_building(s.account, {});
  set_outcomes(s.account, {});
  const family_tables tables = tables_of(families_of(s));
  std::fputs((head + tables.metrics + tables.keys).c_str(), stdout);
}
