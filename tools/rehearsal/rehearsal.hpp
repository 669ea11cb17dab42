// SPDX-License-Identifier: Apache-2.0
// A rehearsal runs the whole chain on this machine: receiver, daemon and replay client as separate
// programs over loopback, then `verify`. The demo and `koto-l3-bench node` are rehearsals. One
// folder gets configuration, logs, store and ledgers for later investigation.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/command_line.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

enum class way_in : std::uint8_t { udp, tcp };

struct rehearsal_plan {
  std::filesystem::path data;   ///< .l2raw
  std::filesystem::path folder; ///< created if missing; must not have an earlier rehearsal
  way_in way = way_in::udp;
  std::string rate; ///< see `koto-l3 replay --rate`; empty: the file's spill structure
  std::uint32_t loops = 1;
  std::uint32_t threads = 1; ///< that send, over UDP
  std::string link_rate = "4 Gb/s";
  std::string backend = "auto";
  std::string selection{}; ///< file, or `built-in`; empty: every event is kept
  bool verify = true;      ///< false: compares only the ledgers
  /// Over UDP: lost or shed events are a result and no problem.
  bool may_lose = false;
  bool quiet = false; ///< progress goes to the logs
  std::chrono::seconds time_limit{600};
  std::function<bool()> interrupted{}; ///< true: ends everything, and rehearse() throws
  /// Called with the port of the daemon's page. The replay client then goes on until `interrupted`
  /// returns true, and everything ends in order. With `may_lose` and without `verify`: the last
  /// spill is cut off.
  std::function<void(std::uint16_t)> watch{};
};

/// A trigger line's account of the events that it judged.
struct line_account {
  std::string name;
  std::uint64_t kept = 0;
  std::uint64_t prescaled = 0; ///< it fired, and its prescale did not keep the event
  std::uint64_t refused = 0;   ///< it did not fire
};

/// Processor time of the threads of one name.
struct thread_time {
  std::string name;
  std::uint32_t threads = 0;
  double seconds = 0;
};

struct rehearsal_result {
  ledger replay;
  ledger daemon;
  ledger receiver;
  double seconds = 0;        ///< of sending; over TCP until every event was acknowledged
  double ratio = 0;          ///< of fragment bytes to packed bytes, of the kept events
  double reduction = 0;      ///< of fragment bytes of all events to packed bytes
  double latency_median = 0; ///< s, from an event's last fragment to its block's acknowledgement
  double latency_p99 = 0;
  std::uint64_t memory_planned = 0; ///< bytes, reported by the daemon
  std::uint64_t memory_peak = 0;    ///< largest resident size of the daemon
  std::vector<thread_time> times;   ///< of replay, the daemon's threads, and the receiver
  std::string backend;
  std::uint64_t frames_bypassed = 0; ///< computed by the CPU in place of the device
  std::vector<line_account> lines;   ///< of the selection
  bool verified = false;
  std::vector<std::string> problems; ///< empty: no problem

  [[nodiscard]] bool ok() const { return problems.empty(); }
  /// Events of which fragments did not come.
  [[nodiscard]] std::uint64_t never_admitted() const {
    return replay.events.admitted - std::min(replay.events.admitted, daemon.events.admitted);
  }
  /// Events that were sent but neither stored nor rejected.
  [[nodiscard]] std::uint64_t lost() const {
    const auto sent = replay.events.admitted;
    return sent - std::min(sent, receiver.events.forwarded + daemon.events.rejected);
  }
};

/// The model of this machine's processor.
[[nodiscard]] std::string processor_name();

/// Runs it. Throws command_error if a program cannot be started, does not become ready, or is
/// interrupted; data errors are returned as problems.
[[nodiscard]] rehearsal_result rehearse(const rehearsal_plan& plan);

/// The data of a rehearsal and its executor: the options that demo and bench share, and the
/// simulation of the data.
struct workload {
  std::uint32_t events = 1000;
  std::uint32_t spills = 1;
  std::uint64_t seed = 1;
  std::string waveforms{}; ///< recorded waveforms instead of simulated ones, if not empty
  int samples = 64;        ///< of a recorded waveform
  std::string backend = "auto";
};

/// `to` has the options' defaults. It must live until the command line is parsed.
void add_workload_options(command_line command, workload& to);

/// Runs `koto-l3 simulate` with its output in `log`, or on this program's output if `log` is empty.
/// Throws command_error if it fails, or when `interrupted` returns true.
void simulate(const workload& what, const std::filesystem::path& file,
              const std::filesystem::path& log = {}, const std::function<bool()>& interrupted = {});

} // namespace l3
