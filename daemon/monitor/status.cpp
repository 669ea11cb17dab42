// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <utility>

#include <boost/json.hpp>

#include "daemon/monitor/metrics.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

/// Puts a family's value where its key says; each label in the key goes one level down in the
/// value.
void place(json::object& into, std::string_view key, const json::value& value) {
  const std::size_t dot = key.find('.');
  const std::string_view here = key.substr(0, dot);
  const std::string_view rest = dot == key.npos ? "" : key.substr(dot + 1);
  const auto put = [rest](json::value& there, const json::value& what) {
    if (rest.empty() || what.is_null()) {
      there = what;
    } else {
      if (!there.is_object()) there.emplace_object();
      place(there.as_object(), rest, what);
    }
  };
  if (here.starts_with('{')) {
    for (const auto& [name, part] : value.as_object()) put(into[name], part);
  } else if (const std::size_t open = here.find('['); open != here.npos) {
    const std::string_view label = here.substr(open + 1, here.size() - open - 2);
    json::value& list = into[here.substr(0, open)];
    if (!list.is_array()) list.emplace_array();
    for (std::size_t i = 0; const auto& [name, part] : value.as_object()) {
      if (i == list.as_array().size()) list.as_array().push_back(json::object{{label, name}});
      place(list.as_array()[i++].as_object(), rest, part);
    }
  } else {
    put(into[here], value);
  }
}

// Text for a place between tags.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    default: out += c;
    }
  }
  return out;
}

http_response plain_text(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n"};
}

} // namespace

std::string render_status(const metrics_snapshot& s) {
  json::object status;
  for (const family& f : families_of(s))
    if (!f.key.empty()) place(status, f.key, f.value);
  return json::serialize(status) + "\n";
}

std::string render_page(const metrics_snapshot& s) {
  const event_account& e = s.account.events;
  const auto row = [](const char* name, std::uint64_t n) {
    return std::string("<tr><th>") + name + "</th><td>" + std::to_string(n) + "</td></tr>\n";
  };
  std::string page = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="5"><title>koto-l3d</title>
<style>body{font:1rem/1.5 sans-serif;margin:2rem;max-width:40rem}th{text-align:left;padding-right:2rem}td{text-align:right}
p.state{padding:.5rem 1rem;color:#fff;background:#2a7}p.state.degraded{background:#b60}p.state.off{background:#666}</style>
</head><body><h1>koto-l3d</h1>
)";
  page += "<p class=\"state";
  page += !s.state.ready() ? " off" : s.state.degraded() ? " degraded" : "";
  page += "\">" + escaped(s.state.text()) + "</p>\n";
  page += "<p>Run " + std::to_string(s.account.run) + ", node " + std::to_string(s.node) +
          ", version " + escaped(s.version) + ", kernels on " +
          escaped(s.backend + (s.device.empty() ? "" : ": " + s.device)) + "</p>\n<table>\n";
  page += row("events admitted", e.admitted) + row("forwarded", e.forwarded) +
          row("rejected", e.rejected) + row("shed", sum_of(e.shed)) + row("in flight", e.in_flight);
  page += "<tr><th>unaccounted for</th><td>" + std::to_string(unaccounted(e)) + "</td></tr>\n";
  page += row("incomplete events", s.building.events_incomplete) +
          row("blocks waiting for the receiver", s.outbox_blocks) +
          row("events on disk", s.spool ? s.spool->events : 0);
  page += R"(</table>
<p><a href="/metrics">metrics</a> · <a href="/status">status</a> · <a href="/healthz">health</a> · <a href="/readyz">readiness</a></p>
</body></html>
)";
  return page;
}

http_pages monitor_pages(std::function<metrics_snapshot()> latest,
                         std::function<state_report()> state, std::function<std::string()> stuck) {
  // The counters are as old as the snapshot; the state is not.
  const auto current = [latest = std::move(latest), state] {
    metrics_snapshot s = latest();
    s.state = state();
    return s;
  };
  http_pages pages;
  pages["/"] = [current] {
    return http_response{200, "text/html; charset=utf-8", render_page(current())};
  };
  pages["/metrics"] = [current] {
    return http_response{200, "text/plain; version=0.0.4; charset=utf-8",
                         render_metrics(current())};
  };
  pages["/status"] = [current] {
    return http_response{200, "application/json", render_status(current())};
  };
  pages["/readyz"] = [state = std::move(state)] {
    const state_report r = state();
    return plain_text(r.ready() ? 200 : 503, r.text());
  };
  pages["/healthz"] = [stuck = std::move(stuck)] {
    const std::string thread = stuck();
    return thread.empty() ? plain_text(200, "ok") : plain_text(503, "no progress: " + thread);
  };
  return pages;
}

} // namespace l3
