// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench building`: event building by itself, from memory: no socket, no compute side.
#include <memory>

#include "bench/building/building_report.hpp"
#include "bench/harness/options.hpp"
#include "tools/command.hpp"

namespace l3 {

void add_bench_building(CLI::App& program, command_body& run) {
  using namespace bench;
  struct options {
    building_options building;
    bool as_json = false;
  };
  auto o = std::make_shared<options>();
  auto* c = program.add_subcommand(
      "building", "Event building by itself, from memory, beside a copy of the same payloads");
  c->footer(
      "The table shows the time of the builder's calls, without the copy of the payloads into "
      "its slots: in the daemon the kernel makes that copy. One thread is measured by its CPU "
      "clock, several threads by the wall clock. With several threads a call first waits for "
      "the lock, and then holds it for nearly all of its time.");
  constexpr std::uint32_t most_events = 4096;
  constexpr std::uint32_t most_threads = 8;
  constexpr std::uint32_t most_datagrams = 64;
  add_count(*c, "--events", o->building.events, "Events that arrive in a run", 2, most_events);
  add_count(*c, "--rounds", o->building.rounds, "How often each takes its turn", 1, 10'000);
  c->add_option("--threads", o->building.threads, "Threads that share the ports")
      ->capture_default_str()
      ->check(CLI::Range(1U, most_threads))
      ->delimiter(',');
  c->add_option("--datagrams", o->building.datagrams_per_call, "Datagrams a call, at most")
      ->capture_default_str()
      ->check(CLI::Range(1U, most_datagrams))
      ->delimiter(',');
  c->add_flag("--json", o->as_json, "Report as JSON");
  c->callback([o, &run] {
    run = [o] {
      const building_report r = measure_building(o->building);
      return print_report(to_json(r), o->as_json, r.all_right());
    };
  });
}

} // namespace l3
