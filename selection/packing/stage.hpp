// SPDX-License-Identifier: Apache-2.0
// Names for stretches of a frame's work.
#pragma once

namespace l3 {

/// Names what is enqueued from here on, for a profiler; queues without one do not listen.
template <class Queue>
void stage(Queue& queue, const char* name) {
  if constexpr (requires { queue.stage(name); }) queue.stage(name);
}

} // namespace l3
