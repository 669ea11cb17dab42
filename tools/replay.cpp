// SPDX-License-Identifier: Apache-2.0
// `koto-l3 replay`: sends a file of level-2 data like the electronics.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "config/amount.hpp"
#include "tools/command_line.hpp"
#include "tools/info/information.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"
#include "tools/replay/tcp_replay.hpp"
#include "tools/replay/udp_replay.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {
namespace {

/// The unit of an option: bytes, ns, or b/s per unit.
struct own_unit {
  dimension what = dimension::size;
  std::uint64_t factor = 1;
  std::string_view name;  ///< "MiB"
  bool fractions = false; ///< the option accepts fractions of the unit
};

/// For option::transform(): converts a number with any unit to the bare number.
[[nodiscard]] option_rule in_unit(const own_unit& unit) {
  return option_rule([unit](std::string& text) -> std::string {
    if (text.find_first_not_of("0123456789.+-eE") == text.npos) return {};
    const auto amount = read_amount(text, unit.what);
    if (!amount)
      return fmt::format(
          "{} is not a number with a unit ({}) or without one (then {}), or is too large", text,
          units_of(unit.what), unit.name);
    if (*amount % unit.factor == 0)
      text = fmt::to_string(*amount / unit.factor);
    else if (unit.fractions)
      text = fmt::format("{}", static_cast<double>(*amount) / static_cast<double>(unit.factor));
    else
      return fmt::format("{} is not a whole number of {}", text, unit.name);
    return {};
  });
}

struct options {
  std::string file;
  std::vector<std::string> to;
  std::string by = "event";
  std::string rate;
  std::uint32_t loops = 1;
  std::string ledger;
  std::uint32_t threads = 1;
  std::uint32_t chunk = 8000;
  std::string drop = "0";
  std::string duplicate = "0";
  std::uint32_t end_delay_ms = 200;
  std::uint64_t window = 256;
  double timeout = 30;
  bool json = false;
};

constexpr double longest_timeout = 1e6;         // in s: days
constexpr std::chrono::hours longest_spill{24}; // the replay would wait too long
constexpr std::uint32_t largest_chunk = 65492;  // most bytes of a datagram, in whole words

/// Whether a file with this begin is a ledger of replay.
bool is_ledger_of_replay(std::string_view begin) { return is_ledger_of("replay", begin); }

/// After a failure the ledger on disk must be this replay's, not an earlier one's.
void begin_ledger(const options& o, bool udp) {
  if (o.ledger.empty()) return;
  std::error_code ignored;
  if (std::filesystem::equivalent(o.file, o.ledger, ignored))
    throw command_error("--ledger: " + o.ledger + " is the file to send", exit_usage);
  check_replaced("--ledger", o.ledger, is_ledger_of_replay);
  write_ledger(o.ledger, ledger_of({}, !udp, false));
}

std::vector<destination> destinations(const std::vector<std::string>& texts) {
  std::vector<destination> all;
  for (const std::string& text : texts) {
    const auto to = from_option("--to", text, parse_destination);
    if (!all.empty() && to.how != all.front().how)
      throw command_error("--to: all destinations must be UDP, or all TCP", exit_usage);
    for (const destination& other : all)
      if (other.text() == to.text())
        throw command_error("--to: " + to.text() + " is given twice", exit_usage);
    all.push_back(to);
  }
  return all;
}

/// Checks that no event or spill end of the file's own times is due after everybody has stopped
/// waiting.
void check_times(const options& o, const replay_source& source) {
  const auto check = [&](std::chrono::nanoseconds time, const std::string& what) {
    if (time >= std::chrono::nanoseconds(0) && time <= longest_spill) return;
    constexpr std::uint64_t second = 1'000'000'000;
    throw command_error(fmt::format(
        "{}: {} {} s after its spill began, more than a day: use --rate to ignore the file's times",
        o.file, what, static_cast<std::uint64_t>(time.count()) / second));
  };
  for (const replay_spill& spill : source.spills()) {
    for (const replay_event& e : spill.events)
      check(e.since_spill, fmt::format("event {} of spill {} is due", e.number, spill.number));
    check(spill.cycle, fmt::format("the cycle of spill {} is over", spill.number));
  }
}

int replay(const options& o) {
  const auto to = destinations(o.to);
  const auto share = o.by == "spill" ? replay_share::by_spill : replay_share::by_event;
  const auto rate = o.rate.empty() ? replay_rate{} : from_option("--rate", o.rate, parse_rate);
  const bool udp = to.front().how == destination::protocol::udp;
  const double drop = from_option("--drop", o.drop, parse_probability);
  const double duplicate = from_option("--duplicate", o.duplicate, parse_probability);
  if (!udp && (drop > 0 || duplicate > 0))
    throw command_error("--drop and --duplicate are for udp://", exit_usage);
  if (!udp && o.threads > 1) throw command_error("--threads is for udp://", exit_usage);
  if (o.chunk % 4 != 0) throw command_error("--chunk must be a multiple of 4", exit_usage);

  begin_ledger(o, udp);
  check_readable(o.file);
  refuse_other_kind(o.file, stored_format::level2);

  interrupt interrupted;
  auto line = std::make_unique<progress>("reading", 0, "bytes");
  const replay_source source(o.file, [&](std::uint64_t n) {
    interrupted.check();
    line->update(n);
  });
  line->clear();
  if (o.rate.empty()) check_times(o, source);
  line = std::make_unique<progress>("replay", source.events() * o.loops, "events");
  const replay_watch watch{[&] { return interrupted.came(); },
                           [&](std::uint64_t n) { line->update(n); }};
  replay_report report;
  if (udp) {
    udp_replay_settings s;
    s.to = to;
    s.share = share;
    s.rate = rate;
    s.loops = o.loops;
    s.chunk_bytes = o.chunk;
    s.drop = drop;
    s.duplicate = duplicate;
    s.end_delay = std::chrono::milliseconds(o.end_delay_ms);
    s.threads = o.threads;
    report = replay_over_udp(source, s, watch);
  } else {
    tcp_replay_settings s;
    s.to = to;
    s.share = share;
    s.rate = rate;
    s.loops = o.loops;
    s.window = o.window << 20;
    s.time_limit = std::chrono::nanoseconds(static_cast<std::int64_t>(o.timeout * 1e9));
    try {
      report = tcp_replay(source, s).run(watch);
    } catch (
        const std::system_error& e) { // no receiver there: a sending error, not a missing resource
      throw command_error(e.what());
    }
  }
  line->clear();
  if (!o.ledger.empty()) write_ledger(o.ledger, ledger_of(report, !udp, true));
  if (o.json)
    print_json("{}", to_json(report));
  else
    print_plain("{}", text_lines{to_table(report)});
  if (report.finished) return 0;
  throw command_error(report.to + ": " +
                      (report.interrupted       ? "interrupted"
                       : report.trouble.empty() ? "not everything was sent"
                                                : report.trouble));
}

} // namespace

void add_replay(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("replay", "send a file of level-2 data like the electronics");
  c.add_option("file", o->file, "a .l2raw file").required();
  c.add_option("--to", o->to,
               "udp://host:port+n (n ports in turn) or tcp://host:port; may be repeated for "
               "daemons that take turns")
      .required()
      .allow_extra_args(false);
  c.add_option("--by", o->by, "what each of several daemons gets in turn")
      .check(one_of({"event", "spill"}))
      .capture_default_str();
  c.add_option("--rate", o->rate,
               "10000ev/s, 40Gb/s or unlimited; by default the file's own times and spills");
  c.add_option("--loop", o->loops, "how often to send the file; spill numbers continue")
      .check(in_range(1U, 1'000'000U))
      .capture_default_str();
  c.add_option("--ledger", o->ledger, "file for the account of what was sent");
  c.add_option("--threads", o->threads,
               "UDP: number of sending threads, which take events in turn, each with its own "
               "socket; from 2 on the bursts are larger than those of the electronics")
      .check(in_range(1U, 64U))
      .capture_default_str();
  c.add_option("--chunk", o->chunk, "UDP: bytes of payload per datagram, such as 8000 or \"8 kB\"")
      .transform(in_unit({dimension::size, 1, "bytes"}))
      .check(in_range(4U, largest_chunk))
      .capture_default_str();
  c.add_option("--drop", o->drop, "UDP: drop datagrams with this probability, such as 1%")
      .capture_default_str();
  c.add_option("--duplicate", o->duplicate, "UDP: send datagrams twice with this probability")
      .capture_default_str();
  c.add_option("--end-delay", o->end_delay_ms,
               "UDP with --rate: time from the last event of a spill to its end, such as \"200 "
               "ms\"; a bare number is in ms")
      .transform(in_unit({dimension::duration, 1'000'000, "ms"}))
      .check(in_range(0U, 100'000U))
      .capture_default_str();
  c.add_option(
       "--window", o->window,
       "TCP: maximum number of unacknowledged bytes, such as \"256 MiB\"; a bare number is in MiB")
      .transform(in_unit({dimension::size, 1U << 20, "MiB"}))
      .check(in_range(1U, 1U << 20))
      .capture_default_str();
  c.add_option("--timeout", o->timeout,
               "TCP: give up after this time without an acknowledgement, such as \"30 s\"; a bare "
               "number is in seconds")
      .transform(in_unit({dimension::duration, 1'000'000'000, "seconds", true}))
      .check([](const std::string& text) -> std::string {
        const auto seconds = read_real_number(text);
        const bool good = seconds && *seconds > 0 && *seconds <= longest_timeout;
        return good ? "" : text + " is not a number of seconds above 0, up to a million";
      })
      .capture_default_str();
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return replay(*o); }; });
}

} // namespace l3
