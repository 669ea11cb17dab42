// SPDX-License-Identifier: Apache-2.0
// Feeds an event builder from memory as the receive threads feed it, and measures what its calls
// take. Payloads are copied into the slots that the builder deals out, as recvmmsg would copy them;
// the copy is not part of what is measured, but its traces in the caches are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/building/reused_batches.hpp"
#include "bench/building/traffic.hpp"

namespace l3::bench {

struct feed_plan {
  std::uint32_t threads = 1;
  std::uint32_t datagrams_per_call = 64; ///< at most, as of one port
};

/// What the calls of the event builder took in one run, in seconds. They lock for nearly all of
/// their time: the waiting for the lock, and being held up by other programs, is part of the wall
/// time.
struct feed_result {
  double wall_of_calls = 0;  ///< of the thread that needed longest
  double cpu_of_calls = 0;   ///< of all threads
  double share_of_time = 0;  ///< of all threads' wall time
  double longest = 0;        ///< call
  double almost_longest = 0; ///< 99.99 % of the calls took less
  double longest_cpu = 0;    ///< CPU time of one call
  std::uint64_t events = 0;  ///< submitted
  std::uint64_t parked = 0;
  std::uint64_t parked_bytes = 0; ///< copied for them, out of one batch and into another
  bool right = true;
};

/// Builds the events of `t` with a builder of its own. With `sent` compares every event.
[[nodiscard]] feed_result feed(const traffic& t, const feed_plan& plan, reused_batches& batches,
                               const made_up_events* sent = nullptr);

/// Copies the payloads into the batches' memory, slot after slot; returns the seconds of CPU time.
[[nodiscard]] double bare_pass(const traffic& t, const reused_batches& batches);

} // namespace l3::bench
