// SPDX-License-Identifier: Apache-2.0
// `koto-l3 run`: begins and ends runs of a daemon with run control, and shows the active run.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "config/usage_mistake.hpp"
#include "selection/trigger/selection_files.hpp"
#include "tools/command_line.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/run/run_words.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds look_again{100};
constexpr int looks_before_a_word = 15;

struct options {
  std::string socket = "/run/koto-l3/control.sock";
  std::optional<std::uint32_t> number;
  bool again = false;
  std::string menu;
  std::string comment;
  std::vector<std::uint32_t> without;
  bool here = false;
  bool wait = false;
  bool as_json = false;
};

int tell(const options& o, const control_answer& a) {
  if (o.as_json) {
    print_json("{}\n", json::serialize(a.body));
  } else if (a.good()) {
    print_plain("{}", text_lines{table_of(a.body)});
  } else {
    for (const auto& reason : a.body.at("reasons").as_array())
      print_error("koto-l3 run: {}\n", peer_text(std::string_view(reason.as_string())));
  }
  return a.good() ? 0 : exit_failure;
}

/// Calls `body`, and reports answers of another program as such.
int understand(const options& o, int (*body)(const options&)) {
  const auto fail = [&] {
    throw command_error(fmt::format("the program at {} is not koto-l3's run control, or has "
                                    "another version (run.control of the daemon, --socket)",
                                    o.socket));
  };
  try {
    return body(o);
  } catch (const boost::system::system_error&) {
    fail();
  } catch (const std::out_of_range&) {
    fail();
  }
  return exit_failure;
}

control_answer ask_status(const options& o) { return ask_control(o.socket, "/run", ""); }

/// Asks until the request has succeeded or failed. `waiting`: message if that takes a while.
int wait_for(const options& o, control_answer a,
             const std::function<std::optional<run_outcome>(const json::object&)>& outcome,
             const std::string& waiting) {
  interrupt signals;
  std::optional<run_outcome> found;
  for (int looks = 0; a.good() && !(found = outcome(a.body)) && !signals.came(); ++looks) {
    if (looks == looks_before_a_word)
      print_error("koto-l3 run: {}; Ctrl-C only stops waiting\n", waiting);
    std::this_thread::sleep_for(look_again);
    a = ask_status(o);
  }
  if (a.good() && !found) throw command_error("interrupted; the request continues");
  const int code = tell(o, a);
  if (!found || found->failure.empty()) return code;
  print_error("koto-l3 run: {}\n", found->failure);
  return exit_failure;
}

int start(const options& o) {
  json::object order;
  if (o.number) order["number"] = *o.number;
  if (o.again) order["again"] = true;
  if (o.menu == built_in)
    order["menu"] = o.menu;
  else if (!o.menu.empty())
    order["menu"] = std::filesystem::absolute(o.menu).string();
  if (!o.comment.empty()) order["comment"] = o.comment;
  if (o.here) order["here"] = true;
  if (!o.without.empty()) order["without"] = json::value_from(o.without);
  const control_answer a = ask_control(o.socket, "/run/start", json::serialize(order));
  const auto number = a.good() ? number_of_run(a.body, "next") : std::nullopt;
  const bool all = a.good() && !o.here && is_of_a_farm(a.body);
  if (!o.wait || !number) return tell(o, a);
  return wait_for(
      o, a,
      [&](const json::object& s) {
        return all ? outcome_of_start_of_all(s, *number) : outcome_of_start(s, *number);
      },
      fmt::format("run {} begins when the beam pauses", *number));
}

int stop(const options& o) {
  const control_answer a = ask_control(o.socket, "/run/stop", o.here ? R"({"here": true})" : "{}");
  const bool all = a.good() && !o.here && is_of_a_farm(a.body);
  auto number = a.good() ? number_of_run(a.body, "current") : std::nullopt;
  if (!o.wait || !(all || number)) return tell(o, a);
  if (!number) number = run_of_farm(a.body); // this node is in no run
  return wait_for(
      o, a,
      [&](const json::object& s) {
        return all ? outcome_of_stop_of_all(s, number) : outcome_of_stop(s, *number);
      },
      fmt::format("{} ends when the beam pauses and its events are safe",
                  number ? fmt::format("run {}", *number) : "what waits"));
}

} // namespace

void add_run(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("run", "begin and end runs of a daemon");
  c.footer("The daemon's configuration must have run.control (docs/run-control.md). Exits with 1 "
           "if the daemon refuses, and shows its reasons, or if another program answers; with 69 "
           "if nothing answers.");
  c.require_subcommand();
  const auto add = [&](const char* name, const char* text, int (*body)(const options&)) {
    const auto s = c.add_subcommand(name, text);
    s.add_option("--socket", o->socket, "socket of the daemon, its run.control")
        .capture_default_str()
        .check(refuse_no_name);
    s.add_flag("--json", o->as_json, "print the daemon's answer as JSON");
    s.callback([o, body, &run] { run = [o, body] { return understand(*o, body); }; });
    return s;
  };
  const command_line begin = add("start", "begin a run at the next pause of the beam", start);
  begin.add_option("--number", o->number,
                   "number of the run; by default one above the highest used on the node");
  begin.add_flag("--again", o->again, "continue a run whose number was used before");
  begin
      .add_option("--selection", o->menu,
                  "file of cuts, counters and lines for this run, on the daemon's machine; by "
                  "default selection.lines of its configuration")
      .check(refuse_no_name);
  begin.add_option("--comment", o->comment, "comment for the ledger, at most 1000 characters");
  begin.add_option("--without", o->without,
                   "begin without these nodes of the farm, which are missing");
  const auto here = [&](command_line s) {
    s.add_flag("--here", o->here, "only on this node, not on all nodes of its farm");
  };
  here(begin);
  begin.add_flag("--wait", o->wait, "wait until the run has begun, in a farm on all nodes");
  const command_line end = add("stop", "end the run at the next pause of the beam", stop);
  here(end);
  end.add_flag("--wait", o->wait, "wait until every event is stored or on disk");
  add("status", "show the active run",
      [](const options& given) { return tell(given, ask_status(given)); });
}

} // namespace l3
