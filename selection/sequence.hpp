// SPDX-License-Identifier: Apache-2.0
// The sequence: which kernels run on a frame, in which order. The same lines on every
// executor.
#pragma once

#include "selection/measure.hpp"
#include "selection/pack.hpp"
#include "selection/place.hpp"
#include "selection/select.hpp"

namespace l3 {

/// Names what is enqueued from here on, for a profiler; queues without one do not listen.
template <class Queue>
void stage(Queue& queue, const char* name) {
  if constexpr (requires { queue.stage(name); }) queue.stage(name);
}

/// Enqueues everything for one batch. `Decide` is the kernel that says which events are kept.
template <class Decide, class Queue>
void run_sequence(Queue& queue, const batch_view& in, const frame_columns& columns, output_view out,
                  frame_summary* summary) {
  stage(queue, "measure");
  queue.run(measure_boards{}, in.boards.size(), in, columns);
  stage(queue, "select");
  queue.run(Decide{}, in.events.size(), in, columns);
  stage(queue, "place");
  queue.run(place_boards{}, in.events.size(), in, columns);
  queue.run(place_events{}, 1, columns, in.events.size(), out.capacity, summary);
  stage(queue, "pack");
  queue.run(pack_boards{}, in.boards.size(), in, columns, out);
  queue.run(pack_events{}, in.events.size(), in, columns, out);
}

} // namespace l3
