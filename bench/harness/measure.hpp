// SPDX-License-Identifier: Apache-2.0
// How the benches measure. What is to be compared takes turns, A B C A B C …, so that a neighbour
// on the machine slows all of it alike; the result is the median with the quartiles beside it.
// Every run is checked: a rate counts only for the right output, into a buffer that held something
// else before.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace l3::bench {

/// What an output holds before a run.
inline constexpr int poison_byte = 0xa5;

/// One thing that is measured. Only `run` and `finish` are timed.
struct entrant {
  std::string name;
  std::function<void()> poison; ///< makes the output of the last run unusable
  std::function<void()> run;
  std::function<bool()> is_right; ///< the output is, after a run
  /// Called once after all runs of a timing, where `run` only enqueues.
  std::function<void()> finish = [] {};
};

/// The state in which an entrant finds the caches.
enum class start : std::uint8_t {
  cold, ///< all outputs are poisoned before the round, and every entrant runs
        ///< in between
  hot,  ///< an untimed run goes before each timing
  /// An output is poisoned before its own timing; entrants may share it. One round goes before
  /// those that count: clocks and links of a device wake up.
  in_turn,
};

/// The thread's clock stands still while another program has the core; work of several threads or
/// of a device needs the wall's.
enum class timer : std::uint8_t { thread, wall };

struct effort {
  std::uint32_t rounds = 0;
  /// Runs within one timing, for what is short beside the reading of the clock.
  std::uint32_t passes = 1;
  start from = start::cold;
  timer by = timer::thread;
};

/// As many passes as a timing on a device has: waking a sleeping host is then no part of it.
inline constexpr std::uint32_t device_passes = 16;

/// Seconds of one run.
struct timing {
  double median = 0;
  double low = 0; ///< quartiles
  double high = 0;
  bool right = true;           ///< every run was
  std::vector<double> seconds; ///< by round
};

/// In the order of the entrants.
[[nodiscard]] std::vector<timing> measure(std::span<const entrant> entrants, effort e);

/// The median and the quartiles; there is at least one value.
[[nodiscard]] timing summary(std::vector<double> seconds);

/// As the system names it.
[[nodiscard]] std::string processor_name();

} // namespace l3::bench
