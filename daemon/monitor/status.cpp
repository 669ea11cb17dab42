// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/status.hpp"

#include <cstdio>
#include <utility>

#include <boost/json.hpp>

namespace l3 {
namespace {

namespace json = boost::json;

json::object by_reason(const reason_counts& counts) {
  json::object o;
  for (const auto& [reason, n] : counts) o[reason] = n;
  return o;
}

json::object quantiles(const histogram_snapshot& h) {
  return {{"count", h.count}, {"median", h.median}, {"p99", h.p99}};
}

json::object state_of(const state_report& r) {
  json::array reasons;
  for (std::size_t t = 0; t < troubles; ++t) {
    if (r.has[t]) reasons.emplace_back(name_of(static_cast<trouble>(t)));
  }
  return {{"now", name_of(r.now)}, {"ready", r.ready()}, {"degraded", std::move(reasons)}};
}

json::array links_of(const metrics_snapshot& s) {
  json::array links;
  for (const input_snapshot& l : s.inputs) {
    links.push_back(json::object{{"link", l.name},
                                 {"datagrams", l.datagrams},
                                 {"bytes", l.bytes},
                                 {"kernel_drops", l.kernel_drops}});
  }
  return links;
}

json::array lines_of(const metrics_snapshot& s) {
  json::array lines;
  for (const line_snapshot& l : s.lines) {
    lines.push_back(json::object{{"line", l.name},
                                 {"prescale", l.prescale},
                                 {"fired", l.fired},
                                 {"kept", l.kept},
                                 {"shed", l.shed},
                                 {"shed_prescale", l.shed_prescale},
                                 {"refused", by_reason(l.refused)}});
  }
  return lines;
}

std::string session_text(const ledger& l) {
  char text[17] = "";
  if (!l.sessions.empty()) {
    std::snprintf(text, sizeof text, "%016llx",
                  static_cast<unsigned long long>(l.sessions.front()));
  }
  return text;
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

json::value spool_of(const metrics_snapshot& s) {
  if (!s.spool) return nullptr;
  return json::object{{"bytes", s.spool->bytes},
                      {"disk_bytes", s.spool->disk_bytes},
                      {"room", s.spool->capacity},
                      {"blocks", s.spool->blocks},
                      {"events", s.spool->events},
                      {"spilled", s.spool->spilled},
                      {"write_errors", s.spool->write_errors},
                      {"damaged", s.spool->damaged},
                      {"missing", s.spool->missing}};
}

} // namespace

std::string render_status(const metrics_snapshot& s) {
  const ledger& a = s.account;
  json::object frames;
  for (std::size_t i = 0; i < s.frames.size(); ++i) frames[frame_state_names[i]] = s.frames[i];
  const json::object status{
      {"program", "koto-l3d"},
      {"version", s.version},
      {"backend", s.backend},
      {"device", s.device},
      {"uptime", s.uptime},
      {"memory_planned", s.memory_planned},
      {"run", a.run},
      {"node", s.node},
      {"session", session_text(a)},
      {"state", state_of(s.state)},
      {"links", links_of(s)},
      {"refused", by_reason(a.datagrams.malformed)},
      {"spills", s.spills},
      {"fragments",
       {{"seen", a.fragments.seen},
        {"admitted", a.fragments.admitted},
        {"incomplete", a.fragments.incomplete},
        {"malformed", by_reason(a.fragments.malformed)},
        {"late", a.fragments.late},
        {"duplicate", a.fragments.duplicate},
        {"in_flight", s.fragments_in_flight},
        {"unaccounted", fragments_unaccounted(s)}}},
      {"events",
       {{"admitted", a.events.admitted},
        {"forwarded", a.events.forwarded},
        {"rejected", a.events.rejected},
        {"shed", by_reason(a.events.shed)},
        {"in_flight", a.events.in_flight},
        {"incomplete", s.events_incomplete},
        {"parked", s.events_parked},
        {"unaccounted", events_unaccounted(s)}}},
      {"lines", lines_of(s)},
      {"events_not_judged", s.events_not_judged},
      {"boards", {{"damaged", s.boards_damaged}, {"opaque", s.boards_opaque}}},
      {"bytes",
       {{"waveforms", s.waveform_bytes}, {"packed", s.packed_bytes}, {"sent", s.bytes_sent}}},
      {"frames", frames},
      {"engine_failures", sum_of(s.engine.failures)},
      {"engine",
       {{"bypassed", s.engine.bypassed},
        {"failures", by_reason(s.engine.failures)},
        {"frames_bypassed", s.engine.frames_bypassed},
        {"restarts", s.engine.restarts},
        {"events_verified", s.engine.events_verified},
        {"events_wrong", s.engine.events_wrong},
        {"batches_dumped", s.engine.batches_dumped},
        {"batches_not_dumped", s.engine.batches_not_dumped}}},
      {"outbox",
       {{"bytes", s.outbox_bytes}, {"capacity", s.outbox_capacity}, {"blocks", s.outbox_blocks}}},
      {"spool", spool_of(s)},
      {"receiver",
       {{"connected", s.receiver_connected},
        {"blocks_sent", s.blocks_sent},
        {"blocks_resent", s.blocks_resent},
        {"blocks_stored", s.blocks_stored},
        {"reconnects", s.reconnects},
        {"refusals", s.refusals}}},
      {"compute_time", quantiles(s.compute_time)},
      {"drain_time", quantiles(s.drain_time)},
      {"event_latency", quantiles(s.event_latency)},
  };
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
  page +=
      "<tr><th>unaccounted for</th><td>" + std::to_string(events_unaccounted(s)) + "</td></tr>\n";
  page += row("incomplete events", s.events_incomplete) +
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
