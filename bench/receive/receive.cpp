// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench receive`: the receive thread of the daemon over loopback, without a compute side.
#include <memory>

#include "bench/harness/options.hpp"
#include "bench/receive/receive_report.hpp"
#include "tools/command.hpp"

namespace l3 {

void add_bench_receive(CLI::App& program, command_body& run) {
  using namespace bench;
  struct options {
    receive_options receive;
    std::uint32_t megabytes_per_second = 600;
    bool as_json = false;
  };
  auto o = std::make_shared<options>();
  auto* c = program.add_subcommand(
      "receive", "Receiving datagrams over loopback, beside a bare loop of poll and recvmmsg");
  c->footer(
      "The table shows the CPU time of the receiving thread, divided by what it received. The "
      "daemon's thread also builds events. A bare loop only receives: into the memory of the "
      "frames in turn, as the daemon must, or into one place again and again, which stays in the "
      "cache.");
  constexpr std::uint32_t most_events = 4096;
  constexpr std::uint32_t most_rate = 100'000;
  constexpr std::uint64_t most_buffer = std::uint64_t{1} << 30;
  add_count(*c, "--events", o->receive.events, "Events that are sent in a run", 2, most_events);
  add_count(*c, "--rounds", o->receive.rounds, "How often each takes its turn", 1, 10'000);
  add_count(*c, "--rate", o->megabytes_per_second, "MB/s of the paced runs", 1, most_rate);
  add_size(*c, "--socket-buffer", o->receive.socket_buffer.bytes, "Kernel buffer of each port",
           kibibytes(64).bytes, most_buffer);
  c->add_flag("--json", o->as_json, "Report as JSON");
  c->callback([o, &run] {
    run = [o] {
      constexpr double mega = 1e6;
      o->receive.bytes_per_second = o->megabytes_per_second * mega;
      const receive_report r = measure_receiving(o->receive);
      return print_report(to_json(r), o->as_json, r.all_right());
    };
  });
}

} // namespace l3
