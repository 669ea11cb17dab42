// SPDX-License-Identifier: Apache-2.0
// `koto-l3 replay`: sends a file of level-2 data as the electronics would, or computes a batch that
// a daemon kept again.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "tools/command.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/replay/rerun.hpp"
#include "tools/replay/tcp_replay.hpp"
#include "tools/replay/udp_replay.hpp"
#include "transport/file/batch_file.hpp"

namespace l3 {
namespace {

struct options {
  std::string file;
  std::string to;
  std::string on;
  std::string rate;
  std::uint32_t loops = 1;
  std::string ledger;
  std::uint32_t chunk = 8000;
  std::string drop = "0";
  std::string duplicate = "0";
  std::uint32_t end_delay_ms = 200;
  std::uint64_t window = 256;
  double timeout = 30;
  bool json = false;
};

constexpr double longest_timeout = 1e6;        // s: days
constexpr std::uint32_t largest_chunk = 65492; // the most that a datagram can carry, in whole words

int replay(const options& o) {
  if (o.to.empty()) {
    throw command_error("--to is required, or for an .l3batch file --on", exit_usage);
  }
  const auto to = from_option("--to", o.to, parse_destination);
  const auto rate = o.rate.empty() ? replay_rate{} : from_option("--rate", o.rate, parse_rate);
  const bool udp = to.how == destination::protocol::udp;
  const double drop = from_option("--drop", o.drop, parse_probability);
  const double duplicate = from_option("--duplicate", o.duplicate, parse_probability);
  if (!udp && (drop > 0 || duplicate > 0))
    throw command_error("--drop and --duplicate are for udp://", exit_usage);
  if (o.chunk % 4 != 0) throw command_error("--chunk must be a multiple of 4", exit_usage);

  check_readable(o.file);

  interrupt interrupted;
  auto line = std::make_unique<progress>("reading", 0, "bytes");
  const replay_source source(o.file, [&](std::uint64_t n) { line->update(n); });
  line = std::make_unique<progress>("replay", source.events() * o.loops, "events");
  const replay_watch watch{[&] { return interrupted.came(); },
                           [&](std::uint64_t n) { line->update(n); }};
  replay_report report;
  if (udp) {
    udp_replay_settings s;
    s.to = to;
    s.rate = rate;
    s.loops = o.loops;
    s.chunk_bytes = o.chunk;
    s.drop = drop;
    s.duplicate = duplicate;
    s.end_delay = std::chrono::milliseconds(o.end_delay_ms);
    report = udp_replay(source, s).run(watch);
  } else {
    tcp_replay_settings s;
    s.to = to;
    s.rate = rate;
    s.loops = o.loops;
    s.window = o.window << 20;
    s.time_limit = std::chrono::nanoseconds(static_cast<std::int64_t>(o.timeout * 1e9));
    try {
      report = tcp_replay(source, s).run(watch);
    } catch (const std::system_error&
                 e) { // no receiver there: an error of sending, not a missing resource
      throw command_error(e.what());
    }
  }
  line->clear();
  if (!o.ledger.empty()) write_ledger(o.ledger, ledger_of(report, !udp));
  std::fputs((o.json ? to_json(report) : to_table(report)).c_str(), stdout);
  if (report.finished) return 0;
  throw command_error(o.to + ": " +
                      (report.interrupted       ? "interrupted"
                       : report.trouble.empty() ? "not everything was sent"
                                                : report.trouble));
}

const std::map<std::string, backend>& executors() {
  static const std::map<std::string, backend> all{{"serial", backend::serial},
                                                  {"pool", backend::pool},
                                                  {"shuffled", backend::shuffled},
                                                  {"threaded", backend::threaded},
                                                  {"cuda", backend::cuda}};
  return all;
}

/// With --on the file is a batch, with --to it is level-2 data.
int replay_or_rerun(const options& o) {
  if (o.on.empty()) return replay(o);
  check_readable(o.file);
  if (!is_batch_file(o.file))
    throw command_error(o.file + " is no .l3batch file; others are sent somewhere, --to");
  return rerun(o.file, {executors().at(o.on), 0}) ? 0 : exit_failure;
}

} // namespace

void add_replay(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  auto* c =
      program.add_subcommand("replay", "send a file of level-2 data as the electronics would, "
                                       "or compute a kept batch again");
  c->add_option("file", o->file, "a .l2raw file, or a .l3batch file with --on")->required();
  auto* to = c->add_option("--to", o->to, "udp://host:port+n (n ports in turn) or tcp://host:port");
  auto* on = c->add_option("--on", o->on, "compute a .l3batch file again on this executor")
                 ->check(CLI::IsMember(executors()));
  to->excludes(on);
  c->add_option("--rate", o->rate,
                "10000ev/s, 40Gb/s or max; without it the file's own times and spill structure");
  c->add_option("--loop", o->loops, "how often to send the file; spill numbers go on")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  c->add_option("--ledger", o->ledger, "write what was sent to this file");
  c->add_option("--chunk", o->chunk, "UDP: payload of a datagram in bytes")
      ->check(CLI::Range(4U, largest_chunk))
      ->capture_default_str();
  c->add_option("--drop", o->drop, "UDP: leave out datagrams with this probability")
      ->capture_default_str();
  c->add_option("--duplicate", o->duplicate, "UDP: send datagrams twice with this probability")
      ->capture_default_str();
  c->add_option("--end-delay", o->end_delay_ms,
                "UDP with --rate: ms between the last event of a spill and its end")
      ->check(CLI::Range(0U, 100'000U))
      ->capture_default_str();
  c->add_option("--window", o->window, "TCP: MiB that may be under way without acknowledgement")
      ->check(CLI::Range(1U, 1U << 20))
      ->capture_default_str();
  c->add_option("--timeout", o->timeout,
                "TCP: give up after so many seconds without an acknowledgement, or of connections "
                "that break")
      ->check([](const std::string& text) -> std::string {
        double seconds = 0;
        // Not-a-number fails both comparisons.
        const bool good =
            CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds <= longest_timeout;
        return good ? "" : text + " is not a number of seconds above 0, up to a million";
      })
      ->capture_default_str();
  c->add_flag("--json", o->json, "report as JSON");
  c->callback([o, &run] { run = [o] { return replay_or_rerun(*o); }; });
}

} // namespace l3
