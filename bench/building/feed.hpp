// SPDX-License-Identifier: Apache-2.0
// Feeds an event builder from memory as receive threads do, and measures its calls. Payloads are
// copied into the builder's slots, as recvmmsg would copy them; the copy is not measured, but its
// effect on the caches is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/building/reused_batches.hpp"
#include "bench/building/traffic.hpp"

namespace l3::bench {

struct feed_plan {
  std::uint32_t threads = 1;
  std::uint32_t datagrams_per_call = 64; ///< most datagrams of one port
};

/// Time in the event builder's calls in one run, in seconds. Wall time includes waiting for the
/// builder's owner and interruptions by other programs.
struct feed_result {
  double wall_of_calls = 0;  ///< of the slowest thread
  double cpu_of_calls = 0;   ///< of all threads
  double almost_longest = 0; ///< 99.99 % of the calls were shorter
  double longest_cpu = 0;    ///< largest CPU time of a call
  std::uint64_t events = 0;  ///< submitted
  std::uint64_t parked = 0;
  std::uint64_t parked_bytes = 0; ///< copied for them out of one batch and into another
  bool right = true;
};

/// Builds the events of `t` with its own builder. With `sent` compares every event.
[[nodiscard]] feed_result feed(const traffic& t, const feed_plan& plan, reused_batches& batches,
                               const made_up_events* sent = nullptr);

/// Copies the payloads into the batches' memory, slot by slot; returns the seconds of CPU time.
[[nodiscard]] double bare_pass(const traffic& t, const reused_batches& batches);

} // namespace l3::bench
