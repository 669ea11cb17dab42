// SPDX-License-Identifier: Apache-2.0
// `l3-metrics-reference` prints docs/metrics.md.
#include <cstdio>
#include <utility>

#include "daemon/monitor/metrics.hpp"

namespace l3 {
namespace {

constexpr const char* head = R"(# Metrics and status

<!-- Made by l3-metrics-reference from the descriptions in daemon/monitor/families.cpp. -->

`koto-l3d` answers at the address of `monitor.bind` (see [configuration.md](configuration.md)):
`/metrics` in the text format of Prometheus, `/status` as one JSON object. Both show what the
daemon counted up to half a second ago. Counters begin at 0 with each start of the daemon. Sizes
are in bytes and durations in seconds.

## Metrics

A label whose values are not listed takes those of the configuration: `link` names an input
(`udp0`, `udp1`, …, `tcp`), `line` a trigger line. The metrics of the spool are absent without a
spool, and those of the trigger lines without a selection.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
)";

constexpr const char* status_head = R"(
## Keys of /status

A key with a metric shows the number of that metric; 1 or 0 is true or false here. A name in braces
stands for each value of that label. `links` and `lines` are arrays with one object for each value,
which its key `link` or `line` holds. `spool` is null without a spool.

| key | metric, or meaning |
| --- | --- |
)";

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

/// "`outcome`: `applied`, `refused`".
std::string labels_of(const family& f) {
  std::string text;
  const auto names = f.labels();
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : "; ") + code(names[i]);
    const char* separator = ": ";
    const auto add = [&](const std::string& value) {
      if (!value.empty()) text += std::exchange(separator, ", ") + code(value);
    };
    f.each_series([&](const auto& values, const auto&) { add(values[i]); });
    for (const auto& [value, times] : f.histograms) add(value);
  }
  return text;
}

} // namespace
} // namespace l3

int main() {
  using namespace l3;
  metrics_snapshot s; // in which every closed list has its names
  s.lines.emplace_back();
  add_input(s.account, {});
  set_building(s.account, {});
  set_outcomes(s.account, {});
  std::string page = head;
  std::string status = status_head;
  for (const family& f : families_of(s)) {
    const std::string help(f.help);
    const std::string metric = code(f.metric());
    if (!f.name.empty())
      page += "| " + metric + " | " + std::string(name_of(f.is)) + " | " + labels_of(f) + " | " +
              help + " |\n";
    if (!f.key.empty())
      status += "| " + code(f.key) + " | " + (f.name.empty() ? help : metric) + " |\n";
  }
  std::fputs((page + status).c_str(), stdout);
}
