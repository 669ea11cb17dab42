// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench receive`: the daemon's receive thread over loopback, without a compute side.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/building/reused_batches.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/receive/bare_receiver.hpp"
#include "bench/receive/sending.hpp"
#include "tools/command_line.hpp"
#include "transport/format/units.hpp"
#include "transport/input/udp_receiver.hpp"

namespace l3::bench {
namespace {

/// One way to receive, over all rounds.
struct receive_row {
  std::string receiver;
  double wanted_rate = 0; ///< bytes per second; 0: unpaced
  struct run {
    double rate = 0; ///< reached by the sender
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes = 0; ///< received
    cpu_time cpu;            ///< of the receiving thread
  };
  std::vector<run> runs;
  bool right = true; ///< no datagram is unaccounted for, and every complete event was built
};

struct receive_report {
  std::uint32_t events = 0;
  byte_size socket_buffer;       ///< as granted by the system
  std::vector<receive_row> rows; ///< at each rate the daemon, then the bare loops

  [[nodiscard]] bool all_right() const;
};

struct receive_options {
  std::uint32_t events = 512;
  std::uint32_t rounds = 5;
  byte_size socket_buffer = mebibytes(16);
  double bytes_per_second = 600e6;
};

namespace json = boost::json;

constexpr std::uint32_t batches_in_turn = 4;
constexpr std::uint32_t events_per_batch = 64;
constexpr double gigabyte = 1e9;
constexpr auto long_time = std::chrono::hours(1);
constexpr auto age = std::chrono::milliseconds(5); // as in the default configuration

/// CPU time of the threads started and joined during `run`, without the main thread, which sends.
template <class Run>
cpu_time cpu_of_receiver(Run&& run) {
  const cpu_time all = cpu_of_process();
  const cpu_time mine = cpu_of_thread(); // the main thread sends
  run();
  cpu_time receiver = cpu_of_process();
  receiver -= all;
  cpu_time mine_now = cpu_of_thread();
  mine_now -= mine;
  receiver -= mine_now;
  return receiver;
}

struct stand {
  const traffic& sent;
  std::uint32_t events;
  byte_size socket_buffer;
  reused_batches& batches;
  byte_size granted{};

  void daemon(receive_row& row) {
    building_settings settings;
    settings.chunk_bytes = piece_bytes;
    settings.event_time_limit = settings.spill_time_limit = long_time;
    building_counters counters;
    outcome_counters outcomes;
    batches.begin(nullptr);
    event_builder builder(settings, batches.capacity(), age, batches, counters, outcomes,
                          [](const spill_summary&) {});
    udp_settings udp;
    udp.port = 0;
    udp.ports = static_cast<std::uint16_t>(sent.ports.size());
    udp.socket_buffer = socket_buffer;
    receive_row::run r;
    std::uint64_t dropped = 0;
    r.cpu = cpu_of_receiver([&] {
      udp_receiver receiver(udp, builder);
      granted = receiver.socket_buffer();
      note(r, send(sent, receiver.ports(), row.wanted_rate));
      receiver.stop();
      r.received = receiver.input(0).datagrams;
      r.bytes = receiver.input(0).bytes;
      dropped = receiver.input(0).kernel_drops;
    });
    builder.drain(steady_clock::now());
    row.right = row.right && r.received + dropped == r.sent &&
                (r.received < r.sent || counters.events_admitted == events);
    row.runs.push_back(r);
  }

  void bare(receive_row& row, std::vector<std::byte*> slots) const {
    receive_row::run r;
    r.cpu = cpu_of_receiver([&] {
      bare_receiver receiver(0, static_cast<std::uint16_t>(sent.ports.size()), socket_buffer,
                             std::move(slots), piece_bytes);
      note(r, send(sent, receiver.ports(), row.wanted_rate));
      receiver.stop();
      r.received = receiver.datagrams();
      r.bytes = receiver.bytes();
    });
    row.runs.push_back(r);
  }

  /// The slots of all batches, `most` at most.
  [[nodiscard]] std::vector<std::byte*> slots(std::size_t most) const {
    std::vector<std::byte*> all;
    const std::size_t bytes = round_up(piece_bytes, std::size_t{64});
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const auto memory = batches.memory(b);
      for (std::size_t at = 0; at + bytes <= memory.size() && all.size() < most; at += bytes)
        all.push_back(memory.data() + at);
    }
    return all;
  }

  static void note(receive_row::run& r, const sent_traffic& s) {
    r.sent = s.datagrams;
    r.rate = static_cast<double>(s.bytes) / s.seconds;
  }
};

double median_of(const receive_row& row,
                 const std::function<double(const receive_row::run&)>& figure) {
  std::vector<double> values;
  for (const auto& r : row.runs) values.push_back(figure(r));
  return summary(std::move(values)).median;
}

double per_gigabyte(double seconds, const receive_row::run& r) {
  return seconds / (static_cast<double>(r.bytes) / gigabyte);
}

json::object to_json(const receive_row& row, const receive_row& daemon) {
  using run = receive_row::run;
  const auto total = [](const run& r) { return per_gigabyte(r.cpu.sum(), r); };
  json::object o;
  o["receiver"] = row.receiver;
  o["bytes_per_second"] = median_of(row, [](const run& r) { return r.rate; });
  o["cpu_seconds_per_gigabyte"] = median_of(row, total);
  o["user"] = median_of(row, [](const run& r) { return per_gigabyte(r.cpu.user, r); });
  o["system"] = median_of(row, [](const run& r) { return per_gigabyte(r.cpu.system, r); });
  std::uint64_t lost = 0;
  for (const run& r : row.runs) lost += r.sent - r.received;
  o["lost_datagrams"] = lost;
  std::vector<double> ratios; // within a round, which has the same neighbours
  for (std::size_t n = 0; n < row.runs.size(); ++n)
    ratios.push_back(total(daemon.runs[n]) / total(row.runs[n]));
  const timing ratio = summary(std::move(ratios));
  o["daemon_to_this"] = ratio.median;
  o["low_quartile"] = ratio.low;
  o["high_quartile"] = ratio.high;
  return o;
}

constexpr std::size_t ways = 3;

bool receive_report::all_right() const { return std::ranges::all_of(rows, &receive_row::right); }

receive_report measure_receiving(const receive_options& o) {
  const made_up_events events(o.events, 1);
  const traffic sent = make_traffic(events, arrival::mixed, 1);
  reused_batches batches(batches_in_turn, events_per_batch);
  for (std::size_t b = 0; b < batches.size(); ++b)
    std::ranges::fill(batches.memory(b), std::byte{poison_byte});
  stand s{sent, o.events, o.socket_buffer, batches};
  const auto frames = s.slots(std::numeric_limits<std::size_t>::max());
  const auto one_place = s.slots(bare_receiver::burst);

  receive_report report;
  report.events = o.events;
  for (const double rate : {o.bytes_per_second, 0.0}) {
    const std::string how = rate == 0 ? ", unpaced" : "";
    report.rows.push_back({"daemon" + how, rate, {}, true});
    report.rows.push_back({"bare loop into the frames" + how, rate, {}, true});
    report.rows.push_back({"bare loop into one place" + how, rate, {}, true});
  }
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    for (std::size_t first = 0; first < report.rows.size(); first += ways) {
      s.daemon(report.rows[first]);
      s.bare(report.rows[first + 1], frames);
      s.bare(report.rows[first + 2], one_place);
    }
  }
  report.socket_buffer = s.granted;
  return report;
}

json::object to_json(const receive_report& r) {
  json::object report = report_of("receive");
  report["events"] = r.events;
  report["socket_buffer_bytes"] = r.socket_buffer.bytes;
  json::array rows;
  for (std::size_t n = 0; n < r.rows.size(); ++n)
    rows.push_back(to_json(r.rows[n], r.rows[n - n % ways]));
  report["rows"] = std::move(rows);
  return report;
}

} // namespace
} // namespace l3::bench

namespace l3 {

void add_bench_receive(command_line program, command_body& run) {
  using namespace bench;
  struct options {
    receive_options receive;
    std::uint32_t megabytes_per_second = 600;
    bool as_json = false;
  };
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand(
      "receive", "Receive datagrams over loopback, beside a bare loop of poll and recvmmsg");
  c.footer(
      "The table shows the CPU time of the receiving thread, divided by what it received. The "
      "daemon's thread also builds events. A bare loop only receives: into the memory of the "
      "frames in turn, as the daemon must, or into one place again and again, which stays in the "
      "cache.");
  constexpr std::uint32_t most_events = 4096;
  constexpr std::uint32_t most_rate = 100'000;
  constexpr std::uint64_t most_buffer = std::uint64_t{1} << 30;
  add_count(c, "--events", o->receive.events, "Events that are sent in a run", 2, most_events);
  add_count(c, "--rounds", o->receive.rounds, "Rounds of measurement", 1, 10'000);
  add_count(c, "--rate", o->megabytes_per_second, "MB/s of the paced runs", 1, most_rate);
  add_size(c, "--socket-buffer", o->receive.socket_buffer.bytes, "Kernel buffer of each port",
           kibibytes(64).bytes, most_buffer);
  c.add_flag("--json", o->as_json, "Report as JSON");
  c.callback([o, &run] {
    run = [o] {
      constexpr double mega = 1e6;
      o->receive.bytes_per_second = o->megabytes_per_second * mega;
      const receive_report r = measure_receiving(o->receive);
      return print_report(to_json(r), o->as_json, r.all_right());
    };
  });
}

} // namespace l3
