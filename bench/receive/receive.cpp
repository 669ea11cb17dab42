// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench receive`: the daemon's receive thread over loopback, without a compute side.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/building/reused_batches.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/report.hpp"
#include "bench/receive/bare_receiver.hpp"
#include "tools/command_line.hpp"
#include "tools/rehearsal/child_process.hpp"
#include "tools/replay/datagram_burst.hpp"
#include "transport/format/units.hpp"
#include "transport/input/udp_receiver.hpp"

namespace l3 {
namespace {

using namespace bench;
namespace json = boost::json;

struct receive_options {
  std::uint32_t events = 512;
  std::uint32_t megabytes_per_second = 600;
  byte_size socket_buffer = mebibytes(16);
  turn_options turns{.rounds = 5};
};

constexpr std::uint32_t batches_in_turn = 4;
constexpr std::uint32_t events_per_batch = 64;
constexpr double gigabyte = 1e9;
constexpr auto long_time = std::chrono::hours(1);
constexpr auto age = std::chrono::milliseconds(5); // as in the default configuration

/// CPU time of all threads except the main thread, which sends.
double cpu_of_others() {
  return seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID);
}

/// One way to receive, over all rounds.
struct receive_row {
  std::string receiver;
  double wanted_rate = 0; ///< bytes per second; 0: unpaced
  struct run {
    double rate = 0; ///< reached by the sender
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes = 0; ///< received
    double cpu = 0;          ///< seconds of the receiving thread
  };
  std::vector<run> runs{};
  bool right = true; ///< no datagram is unaccounted for, and every complete event was built
};

class stand {
public:
  explicit stand(const receive_options& o)
      : options_(o), events_(o.events, 1), sent_(make_traffic(events_, arrival::mixed, 1)),
        ports_(static_cast<std::uint16_t>(sent_.ports.size())) {
    for (std::size_t b = 0; b < batches_.size(); ++b)
      std::ranges::fill(batches_.memory(b), std::byte{poison_byte});
  }

  void daemon(receive_row& row) {
    building_settings settings;
    settings.chunk_bytes = piece_bytes;
    settings.event_time_limit = settings.spill_time_limit = long_time;
    building_counters counters;
    outcome_counters outcomes;
    batches_.begin(nullptr);
    event_builder builder(settings, batches_.capacity(), age, batches_, counters, outcomes,
                          [](const spill_summary&) {});
    udp_settings udp;
    udp.port = free_ports(ports_);
    udp.ports = ports_;
    udp.socket_buffer = options_.socket_buffer;
    std::uint64_t dropped = 0;
    const receive_row::run& r = run(row, [&](receive_row::run& now) {
      udp_receiver receiver(udp, builder);
      granted_ = receiver.socket_buffer();
      send(udp.port, row.wanted_rate, now);
      receiver.stop();
      now.received = receiver.input(0).datagrams;
      now.bytes = receiver.input(0).bytes;
      dropped = receiver.input(0).kernel_drops;
    });
    builder.drain(steady_clock::now());
    row.right = row.right && r.received + dropped == r.sent &&
                (r.received < r.sent || counters.events_admitted == options_.events);
  }

  void bare(receive_row& row, const std::vector<std::byte*>& slots) {
    run(row, [&](receive_row::run& now) {
      const std::uint16_t port = free_ports(ports_);
      bare_receiver receiver(port, ports_, options_.socket_buffer, slots, piece_bytes);
      send(port, row.wanted_rate, now);
      receiver.stop();
      now.received = receiver.datagrams();
      now.bytes = receiver.bytes();
    });
  }

  /// The slots of all batches, `most` at most.
  [[nodiscard]] std::vector<std::byte*> slots(std::size_t most) const {
    std::vector<std::byte*> all;
    const std::size_t bytes = round_up(piece_bytes, std::size_t{64});
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const auto memory = batches_.memory(b);
      for (std::size_t at = 0; at + bytes <= memory.size() && all.size() < most; at += bytes)
        all.push_back(memory.data() + at);
    }
    return all;
  }

  /// As granted by the system.
  [[nodiscard]] byte_size socket_buffer() const { return granted_; }

private:
  /// Adds a run, with the CPU time of the thread that `receive` starts and joins.
  template <class Receive>
  static const receive_row::run& run(receive_row& row, Receive&& receive) {
    receive_row::run now;
    const double before = cpu_of_others();
    receive(now);
    now.cpu = cpu_of_others() - before;
    return row.runs.emplace_back(now);
  }

  /// Sends the datagrams from memory to the ports in turn, at a rate or as fast as possible.
  void send(std::uint16_t first_port, double bytes_per_second, receive_row::run& now) const {
    datagram_burst next({destination::protocol::udp, "127.0.0.1", first_port, ports_});
    const time_point begin = steady_clock::now();
    const auto since = [&] {
      return std::chrono::duration<double>(steady_clock::now() - begin).count();
    };
    // The lists were filled in turn, so the first that is over ends all.
    for (std::size_t i = 0; i / ports_ < sent_.ports[i % ports_].size(); ++i) {
      const sent_datagram& d = sent_.ports[i % ports_][i / ports_];
      next.add(d.header, {d.payload, d.bytes});
      ++now.sent;
      if (!next.full()) continue;
      next.send();
      if (bytes_per_second == 0) continue;
      const double due = static_cast<double>(next.bytes_sent()) / bytes_per_second;
      std::this_thread::sleep_for(std::chrono::duration<double>(due - since()));
    }
    next.send();
    now.rate = static_cast<double>(next.bytes_sent()) / since();
  }

  const receive_options& options_;
  made_up_events events_;
  traffic sent_;
  std::uint16_t ports_;
  reused_batches batches_{batches_in_turn, events_per_batch};
  byte_size granted_{};
};

double median_of(const receive_row& row,
                 const std::function<double(const receive_row::run&)>& figure) {
  std::vector<double> values;
  for (const auto& r : row.runs) values.push_back(figure(r));
  return summary(std::move(values)).median;
}

double cpu_per_gigabyte(const receive_row::run& r) {
  return r.cpu / (static_cast<double>(r.bytes) / gigabyte);
}

json::object to_json(const receive_row& row, const receive_row& daemon) {
  json::object o;
  o["receiver"] = row.receiver;
  o["bytes_per_second"] = median_of(row, [](const receive_row::run& r) { return r.rate; });
  o["cpu_seconds_per_gigabyte"] = median_of(row, cpu_per_gigabyte);
  std::uint64_t lost = 0;
  for (const receive_row::run& r : row.runs) lost += r.sent - r.received;
  o["lost_datagrams"] = lost;
  std::vector<double> ratios; // within a round, which has the same neighbours
  for (std::size_t n = 0; n < row.runs.size(); ++n)
    ratios.push_back(cpu_per_gigabyte(daemon.runs[n]) / cpu_per_gigabyte(row.runs[n]));
  const timing ratio = summary(std::move(ratios));
  o["daemon_to_this"] = ratio.median;
  o["low_quartile"] = ratio.low;
  o["high_quartile"] = ratio.high;
  return o;
}

int measure_receiving(const receive_options& o) {
  constexpr double mega = 1e6;
  constexpr std::size_t ways = 3;
  stand s(o);
  const auto frames = s.slots(std::numeric_limits<std::size_t>::max());
  const auto one_place = s.slots(bare_receiver::burst);
  std::vector<receive_row> rows;
  for (const double rate : {o.megabytes_per_second * mega, 0.0}) {
    const std::string how = rate == 0 ? ", unpaced" : "";
    rows.push_back({"daemon" + how, rate});
    rows.push_back({"bare loop into the frames" + how, rate});
    rows.push_back({"bare loop into one place" + how, rate});
  }
  for (std::uint32_t round = 0; round < o.turns.rounds; ++round) {
    for (std::size_t first = 0; first < rows.size(); first += ways) {
      s.daemon(rows[first]);
      s.bare(rows[first + 1], frames);
      s.bare(rows[first + 2], one_place);
    }
  }
  json::object report = report_of("receive");
  report["events"] = o.events;
  report["socket_buffer_bytes"] = s.socket_buffer().bytes;
  json::array all;
  for (std::size_t n = 0; n < rows.size(); ++n) all.push_back(to_json(rows[n], rows[n - n % ways]));
  report["rows"] = std::move(all);
  return print_report(report, o.turns.as_json, std::ranges::all_of(rows, &receive_row::right));
}

} // namespace

void add_bench_receive(command_line program, command_body& run) {
  auto o = std::make_shared<receive_options>();
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
  add_count(c, "--events", o->events, "Events that are sent in a run", 2, most_events);
  add_count(c, "--rate", o->megabytes_per_second, "MB/s of the paced runs", 1, most_rate);
  add_size(c, "--socket-buffer", o->socket_buffer.bytes, "Kernel buffer of each port",
           kibibytes(64).bytes, most_buffer);
  add_turn_options(c, o->turns);
  c.callback([o, &run] { run = [o] { return measure_receiving(*o); }; });
}

} // namespace l3
