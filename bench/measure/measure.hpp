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

/// One thing that is measured. Only `run` is timed, in one thread and by the thread's own clock:
/// when another program has the core, it stands still.
struct entrant {
  std::string name;
  std::function<void()> poison; ///< makes the output of the last run unusable
  std::function<void()> run;
  std::function<bool()> is_right; ///< the output is, after a run
};

struct effort {
  std::uint32_t rounds = 0;
  /// Runs within one timing, for what is short beside the reading of the clock.
  std::uint32_t passes = 1;
  /// An untimed run before each timing, so that caches hold what they can.
  bool warm = false;
};

/// Seconds of one run, on a core of its own.
struct timing {
  double median = 0;
  double low = 0; ///< quartiles
  double high = 0;
  bool right = true; ///< every run was
};

/// In the order of the entrants. All outputs are poisoned before a round begins, or, if warm,
/// before each timing.
[[nodiscard]] std::vector<timing> measure(std::span<const entrant> entrants, effort e);

/// The median and the quartiles; there is at least one.
[[nodiscard]] timing summary(std::vector<double> seconds);

/// As the system names it.
[[nodiscard]] std::string processor_name();

} // namespace l3::bench
