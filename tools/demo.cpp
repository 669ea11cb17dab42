// SPDX-License-Identifier: Apache-2.0
// `koto-l3 demo`: sends simulated spills through the whole chain on this machine, over UDP and TCP,
// and verifies that every kept event is stored and every other one is accounted for.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "selection/engine/make_engine.hpp"
#include "tools/command_line.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/rehearsal/rehearsal.hpp"
#include "tools/replay/destination.hpp"
#include "tools/replay/source.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::uint32_t watched_events = 400; ///< two cores and a browser cope with these

struct demo_options {
  workload data;
  std::string udp_rate = "400ev/s";
  std::string selection = "built-in";
  std::filesystem::path folder;
  bool watch = false;
  bool json = false;
};

void say(const auto& text) { print_error("demo: {}\n", text); }

struct column {
  const char* name;
  const rehearsal_result* of;
};

template <class Figure>
void row(const std::string& name, const std::vector<column>& columns, const Figure& figure) {
  print_plain("  {:<36}", name);
  for (const column& c : columns) print_plain("{:>20}", figure(*c.of));
  print_plain("\n");
}

template <class Figure>
void row(const std::string& name, const std::vector<column>& columns, int decimals,
         const Figure& figure) {
  row(name, columns,
      [&](const rehearsal_result& r) { return fmt::format("{:.{}f}", figure(r), decimals); });
}

/// Events that were admitted and have no outcome.
std::int64_t unaccounted_events(const rehearsal_result& r) {
  event_account e = r.daemon.events;
  e.forwarded = r.receiver.events.forwarded;
  return unaccounted(e);
}

void print_table(const std::vector<column>& columns, bool verified) {
  using result = const rehearsal_result&;
  constexpr double megabyte = 1e6;
  constexpr double millisecond = 1e-3;
  print_plain("\n  {:<36}", "");
  for (const column& c : columns) print_plain("{:>20}", c.name);
  print_plain("\n");
  row("events sent", columns, [](result r) { return r.replay.events.admitted; });
  row("= kept, stored by the receiver", columns,
      [](result r) { return r.receiver.events.forwarded; });
  row("+ rejected by the selection", columns, [](result r) { return r.daemon.events.rejected; });
  row("+ shed for lack of room", columns, [](result r) { return sum_of(r.daemon.events.shed); });
  row("+ incomplete or missing", columns, [](result r) { return r.never_admitted(); });
  row("+ unaccounted", columns, unaccounted_events);
  row("every sum balances", columns, [](result r) { return r.daemon.balanced() ? "yes" : "NO"; });
  if (verified)
    row("kept events verified, bit for bit", columns,
        [](result r) { return r.verified ? "yes" : "NO"; });
  const auto& lines = columns.front().of->lines;
  if (!lines.empty()) print_plain("  trigger line: kept/prescaled/refused\n");
  for (std::size_t n = 0; n < lines.size(); ++n)
    row("  " + lines[n].name, columns, [&](result r) {
      const line_account l = n < r.lines.size() ? r.lines[n] : line_account{};
      return fmt::format("{}/{}/{}", l.kept, l.prescaled, l.refused);
    });
  row("reduction: bytes in to bytes kept", columns, 1, [](result r) { return r.reduction; });
  row("compression ratio of kept events", columns, 2, [](result r) { return r.ratio; });
  row("events/s", columns, 0,
      [](result r) { return static_cast<double>(r.replay.events.admitted) / r.seconds; });
  row("input MB/s", columns, 0,
      [](result r) { return static_cast<double>(r.daemon.bytes.in) / r.seconds / megabyte; });
  row("output MB/s", columns, 0,
      [](result r) { return static_cast<double>(r.daemon.bytes.out) / r.seconds / megabyte; });
  row("latency to stored, median, ms", columns, 1,
      [](result r) { return r.latency_median / millisecond; });
  row("latency to stored, 99 %, ms", columns, 1,
      [](result r) { return r.latency_p99 / millisecond; });
  print_plain("\n");
}

void print_report(const rehearsal_plan& plan, const std::vector<column>& columns, bool ok) {
  print_plain("koto-l3 demo on {}, {} processors; kernels on {}; output paced at {}; {}\n",
              processor_name(), std::thread::hardware_concurrency(), columns.front().of->backend,
              plan.link_rate,
              plan.selection.empty() ? "no selection" : "selection " + plan.selection);
  print_table(columns, plan.verify);
  for (const column& c : columns)
    for (const auto& p : c.of->problems) print_plain("  {}: {}\n", c.name, text_lines{p});
  print_plain("{}\n", !ok           ? "SOMETHING IS WRONG: see above."
                      : plan.verify ? "Every kept event is stored, bit for bit, and every other "
                                      "event is accounted for."
                                    : "Every event is accounted for.");
}

json::object object_of(const rehearsal_result& r) {
  json::object lines;
  for (const line_account& l : r.lines)
    lines[l.name] =
        json::object{{"kept", l.kept}, {"prescaled", l.prescaled}, {"refused", l.refused}};
  return {{"events_sent", r.replay.events.admitted},
          {"events_stored", r.receiver.events.forwarded},
          {"events_unaccounted", unaccounted_events(r)},
          {"daemon", json::parse(to_json(r.daemon))},
          {"lines", std::move(lines)},
          {"verified", r.verified},
          {"seconds", r.seconds},
          {"ratio", r.ratio},
          {"reduction", r.reduction},
          {"latency_median", r.latency_median},
          {"latency_p99", r.latency_p99},
          {"problems", json::array(r.problems.begin(), r.problems.end())}};
}

/// `folder`: where the data were kept; empty if they were not.
void print_json(const rehearsal_plan& plan, const rehearsal_result& udp,
                const rehearsal_result& tcp, const std::filesystem::path& folder) {
  const json::object all{{"holds", udp.ok() && tcp.ok()}, {"processor", processor_name()},
                         {"backend", udp.backend},        {"link_rate", plan.link_rate},
                         {"selection", plan.selection},   {"udp", object_of(udp)},
                         {"tcp", object_of(tcp)},         {"folder", folder.string()}};
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
  if (o.selection != "none") check_built_in_or_readable(o.selection);
  if (!o.data.waveforms.empty()) check_readable(o.data.waveforms);
  if (o.data.backend == "cuda" && !why_no_cuda().empty())
    throw command_error("backend cuda was asked for, but " + why_no_cuda(), exit_missing_resource);
}

rehearsal_result send(rehearsal_plan& plan, way_in way, const std::string& rate) {
  const bool udp = way == way_in::udp;
  say(fmt::format("receiver, daemon and replay client over {} at {}", udp ? "UDP" : "TCP", rate));
  plan.way = way;
  plan.rate = rate;
  plan.folder = plan.data.parent_path() / (udp ? "udp" : "tcp");
  return rehearse(plan);
}

/// Sends the spills again and again until a signal comes. A run has 512 spill numbers, so the next
/// run begins when they are used up.
rehearsal_result watch(rehearsal_plan& plan, std::uint32_t spills) {
  plan.folder = plan.data.parent_path() / "udp";
  plan.loops = (spill_numbers - 1) / spills;
  plan.may_lose = true;
  plan.verify = false;
  plan.quiet = true;
  plan.interrupted = [before = plan.interrupted] {
    if (!before()) return false;
    ::alarm(0); // set by the signal; everything that is still to do has a time limit
    return true;
  };
  plan.watch = [](std::uint16_t port) {
    say(fmt::format("the page is http://127.0.0.1:{}/; Ctrl-C ends everything", port));
  };
  while (true) {
    rehearsal_result result = rehearse(plan);
    if (plan.interrupted() || !result.ok()) return result;
    std::filesystem::remove_all(plan.folder);
  }
}

int demo_in(const std::filesystem::path& folder, const demo_options& o, interrupt& signals) {
  std::error_code ignored;
  rehearsal_plan plan;
  plan.interrupted = [&] { return signals.came(); };
  plan.data = folder / "spills.l2raw";
  plan.backend = o.data.backend;
  plan.selection = o.selection == "none" ? "" : o.selection;

  say(fmt::format("simulating {} events{}{}", o.data.events,
                  o.data.waveforms.empty() ? "" : " with the waveforms of ", o.data.waveforms));
  simulate(o.data, plan.data, o.json ? folder / "simulate.log" : std::filesystem::path(),
           plan.interrupted);

  const rehearsal_result udp =
      o.watch ? watch(plan, o.data.spills) : send(plan, way_in::udp, o.udp_rate);
  const rehearsal_result tcp = o.watch ? udp : send(plan, way_in::tcp, "unlimited");
  if (!o.watch && signals.came()) throw command_error("interrupted");

  const bool ok = udp.ok() && tcp.ok();
  const bool keep = !ok || !o.folder.empty();
  std::vector<column> columns{{"UDP", &udp}};
  if (!o.watch) columns.push_back({"TCP", &tcp});
  if (o.json) {
    print_json(plan, udp, tcp, keep ? folder : std::filesystem::path());
  } else {
    print_report(plan, columns, ok);
    if (keep) print_plain("Configuration, logs, ledgers and store are in {}\n", folder.string());
  }
  if (!keep) std::filesystem::remove_all(folder, ignored);
  return ok ? 0 : exit_failure;
}

int demo(const demo_options& o) {
  check_options(o);
  interrupt signals; // child programs end with this one
  const auto folder = opened([&] { return make_folder(o); });
  const bool scratch = o.folder.empty();
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
      "send spills through replay, daemon and receiver on this machine, and verify every event");
  o->data.spills = 2;
  add_workload_options(c, o->data);
  const option selection =
      c.add_option("--selection", o->selection,
                   "built-in, none, or a file; by default none for recorded waveforms")
          .capture_default_str();
  const option udp_rate =
      c.add_option("--rate", o->udp_rate, "rate of the UDP part: 400ev/s, 2Gb/s …")
          .capture_default_str();
  c.add_option("--folder", o->folder, "keep everything in this folder");
  const option as_json = c.add_flag("--json", o->json, "report as JSON");
  c.add_flag("--watch", o->watch,
             "send the spills over UDP in real time, over and over, until Ctrl-C; needs up "
             "to 4 GB of the temporary folder")
      .excludes(udp_rate)
      .excludes(as_json);
  c.callback([=, &run] {
    if (selection.count() == 0 && !o->data.waveforms.empty()) o->selection = "none";
    if (o->watch && c.get_option("--events").count() == 0) o->data.events = watched_events;
    run = [o] { return demo(*o); };
  });
}

} // namespace l3
