// SPDX-License-Identifier: Apache-2.0
// The sequence: which kernels run on a frame, in which order. The same five lines on every
// executor.
#pragma once

#include "selection/measure.hpp"
#include "selection/pack.hpp"
#include "selection/place.hpp"
#include "selection/select.hpp"

namespace l3 {

/// Enqueues everything for one batch. `Decide` is the kernel that says which events are kept.
template <class Decide, class Queue>
void run_sequence(Queue& queue, const batch_view& in, const frame_columns& columns,
                  output_view out) {
  queue.run(measure_boards{}, in.boards.size(), in, columns);
  queue.run(Decide{}, in.events.size(), in, columns);
  queue.run(place_boards{}, in.events.size(), in, columns);
  queue.run(place_events{}, 1, columns, in.events.size(), out.capacity);
  queue.run(pack_boards{}, in.boards.size(), in, columns, out);
  queue.run(pack_events{}, in.events.size(), in, columns, out);
}

} // namespace l3
