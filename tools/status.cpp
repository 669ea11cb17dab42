// SPDX-License-Identifier: Apache-2.0
// `koto-l3 status`: a table of daemons and receivers, once or until a signal comes.
#include <algorithm>
#include <memory>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "config/amount.hpp"
#include "tools/command_line.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/status/http_get.hpp"
#include "tools/status/node_status.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

struct options {
  std::vector<std::string> urls{"127.0.0.1:9420"};
  std::string interval = "1 s";
  bool watch = false;
  bool json = false;
};

constexpr std::chrono::nanoseconds most_patience = 2s;
constexpr std::chrono::nanoseconds least_patience = 500ms;

std::chrono::nanoseconds parse_interval(const std::string& text) {
  constexpr std::uint64_t least = 100'000'000;     // in ns; /status changes twice a second
  constexpr std::uint64_t most = 3600'000'000'000; // in ns
  const auto amount = read_amount(text, dimension::duration);
  if (!amount || *amount < least || *amount > most)
    throw std::invalid_argument(text + " is not a time from \"100 ms\" to \"60 min\"");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*amount));
}

std::vector<node_status> ask(const std::vector<http_url>& urls, std::chrono::nanoseconds patience) {
  std::vector<node_status> all;
  const auto answers =
      http_get(urls, std::chrono::duration_cast<std::chrono::milliseconds>(patience));
  for (std::size_t i = 0; i < urls.size(); ++i) {
    http_url shown = urls[i];
    shown.target.clear();
    const std::string name = shown.text().substr(std::string_view("http://").size());
    if (answers[i].good()) {
      all.push_back(read_status(name, answers[i].body));
    } else {
      all.push_back(no_answer(name, answers[i].failure));
    }
  }
  return all;
}

/// Asks those again that have answered; the others cannot give rates within the interval.
std::vector<node_status> ask_again(const std::vector<http_url>& urls,
                                   const std::vector<node_status>& before) {
  std::vector<http_url> good;
  for (std::size_t i = 0; i < urls.size(); ++i)
    if (before[i].failure.empty()) good.push_back(urls[i]);
  std::vector<node_status> now = before;
  auto answer = ask(good, most_patience);
  auto next = answer.begin();
  for (node_status& s : now)
    if (s.failure.empty()) s = std::move(*next++);
  return now;
}

/// Rates need two answers: those of a node whose counts have not changed are kept.
std::vector<node_row> rows_of(const std::vector<node_status>& before,
                              const std::vector<node_status>& now,
                              const std::vector<node_row>& shown) {
  std::vector<node_row> rows;
  for (std::size_t i = 0; i < now.size(); ++i) {
    auto rates = rates_between(before[i], now[i]);
    if (!rates && !shown.empty() && now[i].uptime == before[i].uptime) rates = shown[i].rates;
    rows.push_back({now[i], rates});
  }
  return rows;
}

void show(const options& o, const std::vector<node_row>& rows, bool live) {
  // From the top left; clears what is below.
  if (live) fmt::print("\033[H\033[J");
  if (o.json)
    print_json("{}\n", boost::json::serialize(json_of(rows)));
  else
    print_plain("{}", text_lines{table_of(rows)});
  if (!live && o.watch && !o.json) print_plain("\n");
  if (std::fflush(stdout) != 0) throw command_error("standard output could not be written");
}

bool wait_until(std::chrono::steady_clock::time_point end, interrupt& signals) {
  constexpr std::chrono::nanoseconds step = 50ms;
  while (std::chrono::steady_clock::now() < end) {
    if (signals.came()) return false;
    std::this_thread::sleep_for(std::min(step, end - std::chrono::steady_clock::now()));
  }
  return !signals.came();
}

int tell_status(const options& o) {
  const auto interval = from_option("--interval", o.interval, parse_interval);
  std::vector<http_url> urls;
  for (const std::string& text : o.urls)
    urls.push_back(
        from_option("url", text, [](const std::string& t) { return parse_url(t, "/status"); }));
  interrupt signals;
  const bool live = o.watch && !o.json && ::isatty(STDOUT_FILENO) == 1;
  // With --watch an absent node must not delay the table.
  const auto patience =
      o.watch ? std::clamp(interval, least_patience, most_patience) : most_patience;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto asked = now();
  std::vector<node_status> before = ask(urls, patience);
  std::vector<node_row> rows = rows_of(before, before, {});
  if (live) show(o, rows, live);
  // At least one interval for the rates; none if no node has answered.
  const bool any = std::ranges::any_of(before, [](const auto& s) { return s.failure.empty(); });
  if (!any && !o.watch) show(o, rows, live);
  if (!o.watch) asked = now(); // the interval is between two answers
  while ((any || o.watch) && wait_until(asked + interval, signals)) {
    asked = now();
    std::vector<node_status> found = o.watch ? ask(urls, patience) : ask_again(urls, before);
    rows = rows_of(before, found, rows);
    before = std::move(found);
    show(o, rows, live);
    if (!o.watch) break;
  }
  if (!o.watch && signals.came()) throw command_error("interrupted");
  const bool good = std::ranges::all_of(rows, [](const node_row& r) { return r.status.good(); });
  return good ? 0 : exit_failure;
}

} // namespace

void add_status(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("status", "show the state of daemons and receivers");
  c.footer("Reads /status of each program twice, and shows the rates between the two answers. "
           "Exits with 1 if a program does not answer, is not ready, or has a warning or a "
           "critical trouble. With --watch the last table before SIGINT or SIGTERM decides.");
  c.add_option("url", o->urls,
               "monitoring addresses, such as node1:9420 or http://[::1]:9421; the default port is "
               "9420; a port alone means this machine")
      .capture_default_str();
  c.add_flag("--watch", o->watch, "repeat until a signal arrives");
  c.add_option("--interval", o->interval, "time between two requests, such as \"500 ms\"")
      .capture_default_str();
  c.add_flag("--json", o->json, "report as JSON; with --watch one line each time");
  c.callback([o, &run] { run = [o] { return tell_status(*o); }; });
}

} // namespace l3
