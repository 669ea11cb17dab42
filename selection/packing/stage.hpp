// SPDX-License-Identifier: Apache-2.0
// Names the stages of a frame's work for a profiler.
#pragma once

namespace l3 {

/// Names the work enqueued from here on. Queues without a profiler ignore the name.
template <class Queue>
void stage(Queue& queue, const char* name) {
  if constexpr (requires { queue.stage(name); }) queue.stage(name);
}

} // namespace l3
