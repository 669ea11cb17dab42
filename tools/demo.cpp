// SPDX-License-Identifier: Apache-2.0
// `koto-l3 demo`: sends a spill through the whole chain on this machine, over UDP and TCP, and
// verifies every event.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "selection/engine/make_engine.hpp"
#include "tools/command.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/rehearsal/rehearsal.hpp"
#include "tools/replay/destination.hpp"
#include "tools/scratch_folder.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

struct demo_options {
  workload data;
  std::string udp_rate = "400ev/s";
  std::string tcp_rate = "unlimited";
  std::filesystem::path folder;
  bool keep = false;
  bool json = false;
};

void say(const auto& text) { print_error("demo: {}\n", text); }

struct column {
  const char* name;
  const rehearsal_result* of;
};

template <class Figure>
void row(const char* name, const std::vector<column>& columns, const Figure& figure) {
  print_plain("  {:<38}", name);
  for (const column& c : columns) print_plain("{:>14}", figure(*c.of));
  print_plain("\n");
}

template <class Figure>
void row(const char* name, const std::vector<column>& columns, int decimals, const Figure& figure) {
  row(name, columns,
      [&](const rehearsal_result& r) { return fmt::format("{:.{}f}", figure(r), decimals); });
}

std::uint64_t sum(const reason_counts& r) { return sum_of(r); }

void print_table(const std::vector<column>& columns) {
  using result = const rehearsal_result&;
  constexpr double megabyte = 1e6;
  constexpr double millisecond = 1e-3;
  print_plain("\n  {:<38}", "");
  for (const column& c : columns) print_plain("{:>14}", c.name);
  print_plain("\n");
  row("events sent", columns, [](result r) { return r.replay.events.admitted; });
  row("events admitted", columns, [](result r) { return r.daemon.events.admitted; });
  row("= forwarded (stored by the receiver)", columns,
      [](result r) { return r.daemon.events.forwarded; });
  row("+ rejected", columns, [](result r) { return r.daemon.events.rejected; });
  row("+ shed", columns, [](result r) { return sum(r.daemon.events.shed); });
  row("+ in flight", columns, [](result r) { return r.daemon.events.in_flight; });
  row("fragments seen", columns, [](result r) { return r.daemon.fragments.seen; });
  row("= admitted", columns, [](result r) { return r.daemon.fragments.admitted; });
  row("+ incomplete", columns, [](result r) { return r.daemon.fragments.incomplete; });
  row("+ malformed", columns, [](result r) { return sum(r.daemon.fragments.malformed); });
  row("+ late", columns, [](result r) { return r.daemon.fragments.late; });
  row("+ duplicate", columns, [](result r) { return r.daemon.fragments.duplicate; });
  row("both sums balance", columns, [](result r) { return r.daemon.balanced() ? "yes" : "NO"; });
  row("every event verified, bit for bit", columns,
      [](result r) { return r.verified ? "yes" : "NO"; });
  row("events/s", columns, 0,
      [](result r) { return static_cast<double>(r.daemon.events.forwarded) / r.seconds; });
  row("input MB/s", columns, 0,
      [](result r) { return static_cast<double>(r.daemon.bytes.in) / r.seconds / megabyte; });
  row("output MB/s", columns, 0,
      [](result r) { return static_cast<double>(r.daemon.bytes.out) / r.seconds / megabyte; });
  row("compression ratio", columns, 2, [](result r) { return r.ratio; });
  row("latency to stored, median, ms", columns, 1,
      [](result r) { return r.latency_median / millisecond; });
  row("latency to stored, 99 %, ms", columns, 1,
      [](result r) { return r.latency_p99 / millisecond; });
  print_plain("\n");
}

void print_report(const std::vector<column>& columns, bool ok) {
  print_plain("koto-l3 demo: kernels on {}\n", columns.front().of->backend);
  print_table(columns);
  for (const column& c : columns)
    for (const auto& p : c.of->problems) print_plain("  {}: {}\n", c.name, text_lines{p});
  print_plain("{}\n",
              ok ? "Everything that was sent is stored, bit for bit, and every sum balances."
                 : "SOMETHING IS WRONG: see above.");
}

json::object object_of(const rehearsal_result& r) {
  return {{"events_sent", r.replay.events.admitted},
          {"events_stored", r.receiver.events.forwarded},
          {"daemon", json::parse(to_json(r.daemon))},
          {"verified", r.verified},
          {"seconds", r.seconds},
          {"ratio", r.ratio},
          {"latency_median", r.latency_median},
          {"latency_p99", r.latency_p99},
          {"problems", json::array(r.problems.begin(), r.problems.end())}};
}

/// `folder`: where the data were kept; empty if they were not.
void print_json(const rehearsal_result& udp, const rehearsal_result& tcp,
                const std::filesystem::path& folder) {
  const json::object all{{"holds", udp.ok() && tcp.ok()},
                         {"backend", udp.backend},
                         {"udp", object_of(udp)},
                         {"tcp", object_of(tcp)},
                         {"folder", folder.string()}};
  l3::print_json("{}\n", json::serialize(all));
}

std::filesystem::path make_folder(const demo_options& o) {
  if (!o.folder.empty()) {
    std::filesystem::create_directory(o.folder);
    return o.folder;
  }
  return new_scratch_folder("koto-l3-demo");
}

/// Checked before the simulation.
void check_options(const demo_options& o) {
  (void)from_option("--rate", o.udp_rate, parse_rate);
  (void)from_option("--tcp-rate", o.tcp_rate, parse_rate);
  if (!o.data.waveforms.empty()) check_readable(o.data.waveforms);
  if (o.data.backend == "cuda" && !why_no_cuda().empty())
    throw command_error("backend cuda was asked for, but " + why_no_cuda(), exit_missing_resource);
}

int demo_in(const std::filesystem::path& folder, const demo_options& o, interrupt& signals) {
  std::error_code ignored;
  const auto data = folder / "spill.l2raw";
  const auto interrupted = [&] { return signals.came(); };

  say(fmt::format("simulating {} events{}{}", o.data.events,
                  o.data.waveforms.empty() ? "" : " with the waveforms of ", o.data.waveforms));
  simulate(o.data, data, o.json ? folder / "simulate.log" : std::filesystem::path(), interrupted);

  rehearsal_plan plan;
  plan.interrupted = interrupted;
  plan.data = data;
  plan.backend = o.data.backend;
  say("receiver, daemon and replay client over UDP at " + o.udp_rate);
  plan.way = way_in::udp;
  plan.rate = o.udp_rate;
  plan.folder = folder / "udp";
  const rehearsal_result udp = rehearse(plan);

  say("the same over TCP at " + o.tcp_rate);
  plan.way = way_in::tcp;
  plan.rate = o.tcp_rate;
  plan.folder = folder / "tcp";
  const rehearsal_result tcp = rehearse(plan);
  if (interrupted()) throw command_error("interrupted");

  const bool ok = udp.ok() && tcp.ok();
  const bool keep = !ok || o.keep || !o.folder.empty();
  if (o.json) {
    print_json(udp, tcp, keep ? folder : std::filesystem::path());
  } else {
    print_report({{"UDP", &udp}, {"TCP", &tcp}}, ok);
    if (keep) print_plain("Configuration, logs, ledgers and store are in {}\n", folder.string());
  }
  if (!keep) std::filesystem::remove_all(folder, ignored);
  return ok ? 0 : exit_failure;
}

int demo(const demo_options& o) {
  check_options(o);
  interrupt signals; // child programs end with this one
  const auto folder = opened([&] { return make_folder(o); });
  const bool scratch = o.folder.empty() && !o.keep;
  say("working in " + folder.string() + (scratch ? ", which is removed if all is well" : ""));
  try {
    return demo_in(folder, o, signals);
  } catch (const std::exception& e) {
    // A program that got the same signal may have ended before this check.
    const bool interrupted = signals.came();
    std::error_code ignored;
    if (interrupted && scratch) std::filesystem::remove_all(folder, ignored);
    if (interrupted) throw command_error("interrupted");
    const auto* const known = dynamic_cast<const command_error*>(&e);
    const bool missing = dynamic_cast<const std::system_error*>(&e) != nullptr;
    say(text_lines{e.what()}); // with the last lines of a log
    throw command_error("all files are in " + folder.string(), known != nullptr ? known->code
                                                               : missing ? exit_missing_resource
                                                                         : exit_failure);
  }
}

} // namespace

void add_demo(command_line program, command_body& run) {
  auto o = std::make_shared<demo_options>();
  const auto c = program.add_subcommand(
      "demo",
      "send a spill through replay, daemon and receiver on this machine, and verify every event");
  add_workload_options(c, o->data);
  c.add_option("--rate", o->udp_rate, "rate of the UDP part: 400ev/s, 2Gb/s …")
      .capture_default_str();
  c.add_option("--tcp-rate", o->tcp_rate, "rate of the TCP part").capture_default_str();
  c.add_option("--folder", o->folder, "keep everything in this folder");
  c.add_flag("--keep", o->keep, "keep the temporary folder");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return demo(*o); }; });
}

} // namespace l3
