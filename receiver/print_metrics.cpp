// SPDX-License-Identifier: Apache-2.0
// `l3-receiver-metrics-reference` prints docs/receiver-metrics.md.
#include <cstdio>

#include "monitor/trouble_reference.hpp"
#include "receiver/troubles.hpp"

namespace l3 {
namespace {

constexpr const char* head = R"(# Metrics and status of the receiver

<!-- Made by l3-receiver-metrics-reference from the descriptions in receiver/families.cpp. -->

`koto-l3 receive --monitor ADDRESS` answers there: `/metrics` in the text format of Prometheus,
`/status` as one JSON object, `/readyz` (200 while it stores), `/healthz` (200 while its thread
makes progress) and a page, which draws one of the latest stored events. `/metrics` and `/status`
are at most half a second old. Counters begin at 0 with each start. Sizes are in bytes and durations
in seconds.

## Metrics

The label `node` is the number of a daemon's node, one of the 48 heard last. Metrics of a daemon's
connection are absent until the daemon has been heard. The usual `process_…` metrics of Prometheus'
clients are there, too.

The key of `/status` holds the same number; 1 or 0 is true or false there. A name in braces stands
for each value of that label. `daemons` is an array with one object for each node, which its key
`node` holds.

)";

} // namespace
} // namespace l3

int main(int argc, char** argv) {
  using namespace l3;
  if (argc == 3) {
    const std::vector<trouble_row> rows = rows_of(receive_troubles());
    return print_with_troubles({"koto-l3 receive", rows, "koto_l3_receive_trouble", ""}, argv[1],
                               argv[2]);
  }
  receive_snapshot s;
  s.daemons.emplace_back();
  s.daemons.back().silent = s.daemons.back().lag = 0;
  s.disk = disk_snapshot{.seconds_left = 0};
  s.published["pi0nunu"] = 0;
  const family_tables tables = tables_of(families_of(s));
  std::fputs((head + tables.metrics + tables.keys).c_str(), stdout);
}
