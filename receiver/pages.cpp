// SPDX-License-Identifier: Apache-2.0
#include "receiver/watch.hpp"

#include <utility>

#include <fmt/format.h>

#include "monitor/http_server.hpp"
#include "monitor/in_words.hpp"

namespace l3 {
namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<noscript><meta http-equiv="refresh" content="2"></noscript><title>koto-l3 receive</title><link rel="icon" href="data:,">
<style>:root{color-scheme:light dark;--paper:#f3f5f7;--card:#fff;--ink:#14181c;--soft:#525d67;--line:#cfd6dc;--good:#176b38;--warn:#8a4b00;--bad:#b00020;--missing:#ffdde0}
@media(prefers-color-scheme:dark){:root{--paper:#0f1317;--card:#191f25;--ink:#eceff2;--soft:#a9b4be;--line:#36404a;--good:#1b7a42;--warn:#9a5600;--bad:#c5223a;--missing:#5c1220}}
*{box-sizing:border-box}body{font:1rem/1.5 system-ui,sans-serif;margin:0;background:var(--paper);color:var(--ink);font-variant-numeric:tabular-nums}
main,section,footer{padding:0 max(1rem,calc((100vw - 80rem)/2));overflow-wrap:anywhere}h1{font-size:1rem;margin:.8rem 0}h2{font-size:1rem;margin:1.5rem 0 .5rem}footer{color:var(--soft)}
table{border-collapse:collapse;background:var(--card);border-radius:.4rem}.wide{overflow-x:auto}.wide table{width:100%}.wide td,.wide th{white-space:nowrap}
th,td{padding:.25rem .8rem;text-align:right}th:first-child{text-align:left}tr+tr{border-top:1px solid var(--line)}th[scope=col]{font-size:.875rem;color:var(--soft)}
p.state{margin:0 calc(-1*max(1rem,calc((100vw - 80rem)/2)));padding:.8rem max(1rem,calc((100vw - 80rem)/2));color:#fff;background:var(--good);font-size:1.6rem;font-weight:600;line-height:1.25}
p.state.degraded{background:var(--warn)}p.state.off{background:var(--bad)}tr.missing{background:var(--missing)}main.old :not(.state){filter:grayscale(1)}a,button,select{color:inherit}button,select{font:inherit}button[aria-pressed=true]{font-weight:600}
</style></head><body><main><h1>koto-l3 receive</h1>
)";

// The content of main is requested repeatedly. Without an answer it stays and is marked as old.
constexpr std::string_view tail =
    R"(</main><section id="event" hidden><h2>Latest stored events</h2><p><label>kept by <select name="line"></select></label> <label>from <select name="node"></select></label> <button aria-pressed="false">freeze</button> <small></small></p><div></div></section><footer><p><a href="/metrics">metrics</a> · <a href="/status">status</a> · <a href="/healthz">health</a> · <a href="/readyz">readiness</a> · <a href="/runbook">runbook</a></p></footer><script>
"use strict";
let answered = performance.now();
async function look() {
  if (document.hidden) return;
  const main = document.querySelector("main");
  try {
    const answer = await fetch("/", {cache: "no-store", signal: AbortSignal.timeout(3000)});
    const now = new DOMParser().parseFromString(await answer.text(), "text/html");
    answered = performance.now();
    if (main.innerHTML !== now.querySelector("main").innerHTML || main.className) main.replaceWith(now.querySelector("main"));
    document.title = now.title;
  } catch {
    const silent = Math.round((performance.now() - answered) / 1000);
    if (silent < 3) return;
    const state = document.querySelector(".state");
    state.className = "state off";
    state.textContent = "no answer from the receiver, last answer " + silent + " s ago: is it running? The values below are old.";
    main.className = "old";
    document.title = "no answer – koto-l3 receive";
  }
}
setInterval(look, 1000);

// The latest stored event of the chosen line and node. /event.js draws it; it stays while the user looks at a waveform.
const section = document.getElementById("event"), [line, node, freeze, told, drawing] = ["[name=line]", "[name=node]", "button", "small", "div"].map(e => section.querySelector(e));
const get = async page => (await fetch(page, {cache: "no-store", signal: AbortSignal.timeout(3000)})).json();
let frozen = false;
const setFrozen = yes => freeze.setAttribute("aria-pressed", frozen = yes);
function offer(select, any, values, text = value => value) {
  const now = select.value, all = [...new Set([...values, now])].filter(value => value !== "").sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
  select.replaceChildren(new Option(any, ""), ...all.map(value => new Option(text(value), value)));
  select.value = now;
}
async function draw() {
  if (document.hidden || frozen) return;
  try {
    const list = await get("/events");
    offer(line, "any line", list.flatMap(e => e.lines));
    offer(node, "any node", list.map(e => String(e.node)), value => "node " + value);
    const one = list.find(e => (!line.value || e.lines.includes(line.value)) && (!node.value || String(e.node) === node.value));
    told.textContent = one || !list.length ? "" : "none of the latest events";
    const data = one && await get(one.page);
    if (!data || data.run !== one.run || data.spill !== one.spill || data.event !== one.event) return; // another event has its place
    const {showEvent} = await import("/event.js");
    section.hidden = false;
    showEvent(drawing, data);
  } catch { /* the state says that the receiver does not answer */ }
}
freeze.onclick = () => setFrozen(!frozen);
line.onchange = node.onchange = () => { setFrozen(false); draw(); };
drawing.addEventListener("choose", () => setFrozen(true));
draw();
setInterval(draw, 6000);
</script></body></html>
)";

constexpr double megabyte = 1e6;

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, value);
}

std::string disk_in_words(const disk_snapshot& d) {
  const std::string room =
      fmt::format("{:.1f} GB free of {:.1f}", static_cast<double>(d.free) / 1e9,
                  static_cast<double>(d.bytes) / 1e9);
  return d.seconds_left ? room + ", full in " + in_words(*d.seconds_left) : room;
}

std::string state_in_words(const daemon_snapshot& d) {
  if (d.state == node_state::unknown) return "not heard yet";
  std::string text(name_of(d.state));
  if (!d.connected && d.silent) text += ", silent for " + in_words(*d.silent);
  return text;
}

std::string last_block_in_words(const daemon_snapshot& d) {
  if (!d.last_block) return {};
  return in_words(*d.last_block) + " ago" +
         (d.last_event ? ", " + event_in_words(*d.last_event) : "");
}

std::string lag_in_words(const daemon_snapshot& d) {
  if (d.lag) return fmt::format("{:.3f} s", *d.lag);
  return d.last_block ? "unknown" : "";
}

std::string daemon_row(const daemon_snapshot& d) {
  return fmt::format(
      "<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0f}</td>"
      "<td>{:.1f}</td><td>{}</td><td>{}</td></tr>\n",
      d.state == node_state::missing ? " class=\"missing\"" : "", d.node, escaped(d.name),
      state_in_words(d), d.run, d.in_store.events, d.events_per_second,
      d.bytes_per_second / megabyte, lag_in_words(d), last_block_in_words(d));
}

std::string where_it_breaks_off(const missing_snapshot& m) {
  if (m.after) return "after " + event_in_words(*m.after);
  return m.stored ? "after its last stored event" : "its beginning";
}

std::string missing_row(const missing_snapshot& m) {
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", m.run,
      m.node, where_it_breaks_off(m), m.before ? "before " + event_in_words(*m.before) : "",
      m.away ? "back after " + in_words(*m.away) : "missing for " + in_words(m.silent));
}

} // namespace

std::string render_page(const receive_snapshot& s) {
  const std::string_view level = s.troubles.level();
  std::string page(head);
  page += fmt::format("<p class=\"state{}\">{}</p>\n",
                      level == name_of(severity::critical)  ? " off"
                      : level == name_of(severity::warning) ? " degraded"
                                                            : "",
                      escaped(s.state_text()));
  for (const trouble& t : s.troubles.now)
    page += fmt::format("<p>{}{}</p>\n", &t == s.troubles.headline() ? "" : escaped(t.text + "; "),
                        escaped(t.action));
  page += "<p>Version " + escaped(s.version) + ", listening on " + escaped(s.endpoint) +
          ", storing in " + escaped(s.folder) + "</p>\n<table>\n";
  page += row("events in the store", std::to_string(s.stored_events));
  page += row("bytes", fmt::format("{:.1f} GB", static_cast<double>(s.stored_bytes) / 1e9));
  if (s.disk) page += row("disk", disk_in_words(*s.disk));
  page += R"(</table>
<h2>Nodes</h2>
<div class="wide"><table><tr><th scope="col">node</th><th scope="col">name</th><th scope="col">state</th><th scope="col">run</th><th scope="col">events</th><th scope="col">a second</th><th scope="col">MB a second</th><th scope="col">lag</th><th scope="col">last block</th></tr>
)";
  for (const daemon_snapshot& d : s.daemons) page += daemon_row(d);
  page += "</table></div>\n";
  if (s.daemons_left_out > 0) page += fmt::format("<p>{} more nodes</p>\n", s.daemons_left_out);
  if (!s.missing.empty()) {
    page += R"(<h2>Missing</h2>
<p>Events that a node accepted but did not send. Events on its disk arrive when it is back; senders over TCP send theirs to other nodes; the rest is lost.</p>
<div class="wide"><table><tr><th scope="col">run</th><th scope="col">node</th><th scope="col">from</th><th scope="col">to</th><th scope="col">node is</th></tr>
)";
    for (const missing_snapshot& m : s.missing) page += missing_row(m);
    page += "</table></div>\n";
  }
  page += tail;
  return page;
}

http_pages receive_pages(std::function<receive_snapshot()> latest, std::function<bool()> stuck) {
  http_pages pages;
  pages["/"] = [latest] { return html(render_page(latest())); };
  pages["/metrics"] = [latest] { return prometheus_text(render_metrics(families_of(latest()))); };
  pages["/status"] = [latest] { return json_text(render_status(families_of(latest()))); };
  pages["/runbook"] = [] { return html(std::string(runbook)); };
  pages["/readyz"] = [latest = std::move(latest)] {
    const receive_snapshot s = latest();
    return plain_text(s.ready() ? 200 : 503,
                      s.ready() ? s.state_text() : "nothing is stored: " + s.store_error);
  };
  pages["/healthz"] = [stuck = std::move(stuck)] {
    return stuck() ? plain_text(503, "no progress: the storing thread waits for its disk")
                   : plain_text(200, "ok");
  };
  return pages;
}

} // namespace l3
