// SPDX-License-Identifier: Apache-2.0
// The measurement method of the benches. Entrants take turns, A B C A B C …, so that a neighbour on
// the machine slows all of them alike; the result is the median with the quartiles. Every run is
// checked: a rate counts only with the right output, in a buffer that had other contents before.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace l3::bench {

/// The content of an output before a run.
inline constexpr int poison_byte = 0xa5;

/// One measured task. Only `run` and `finish` are timed.
struct entrant {
  std::string name;
  std::function<void()> poison; ///< invalidates the output of the last run
  std::function<void()> run;
  std::function<bool()> is_right; ///< checks the output after a run
  /// Called once after all runs of a timing, if `run` only enqueues.
  std::function<void()> finish = [] {};
};

/// The state of the caches when an entrant starts.
enum class start : std::uint8_t {
  cold, ///< all outputs are poisoned before the round, and all entrants run
        ///< in between
  hot,  ///< an untimed run precedes each timing
  /// An output is poisoned before its own timing; entrants may share it. One uncounted round comes
  /// first, to wake up clocks and links of a device.
  in_turn,
};

/// The thread's clock stops while another program has the core; work of several threads or of a
/// device needs the wall clock.
enum class timer : std::uint8_t { thread, wall };

struct effort {
  std::uint32_t rounds = 0;
  /// Runs per timing, for runs that are short compared with reading the clock.
  std::uint32_t passes = 1;
  start from = start::cold;
  timer by = timer::thread;
};

/// Runs per timing on a device, which make waking a sleeping host negligible.
inline constexpr std::uint32_t device_passes = 16;

/// Seconds per run.
struct timing {
  double median = 0;
  double low = 0; ///< quartiles
  double high = 0;
  bool right = true; ///< every output was right
  /// Instructions of all kernels of one run. Only the simulated device counts them; else 0.
  std::uint64_t warp_instructions = 0;
  std::vector<double> seconds; ///< by round
};

/// The results in the order of the entrants.
[[nodiscard]] std::vector<timing> measure(std::span<const entrant> entrants, effort e);

/// The time of a clock, such as CLOCK_MONOTONIC.
[[nodiscard]] double seconds(clockid_t clock);

/// Median and quartiles of at least one value.
[[nodiscard]] timing summary(std::vector<double> seconds);

} // namespace l3::bench
