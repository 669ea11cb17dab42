// SPDX-License-Identifier: Apache-2.0
// The plan that reads each packet twice: to measure it and, of kept events, to pack it. The same
// lines on every executor.
//
// A plan is a type with the columns that its kernels leave for one another, and run(), which
// enqueues them. one_pass_plan.hpp has another, for runs that keep everything, with the same bytes,
// and selecting_plan.hpp the one whose algorithms are configured; it packs as this one does.
#pragma once

#include "selection/packing/keep_all.hpp"
#include "selection/packing/measure.hpp"
#include "selection/packing/pack.hpp"
#include "selection/packing/pack_events.hpp"
#include "selection/packing/place.hpp"
#include "selection/packing/stage.hpp"

namespace l3 {

/// Finds room for the accepted events, and packs them there.
template <class Queue>
void pack_accepted(Queue& queue, const batch_view& in, const frame_columns& all, output_view out,
                   frame_summary* summary) {
  stage(queue, "place");
  queue.run(place_boards{}, in.events.size(), in, all);
  queue.run(place_events{}, 1, all, in.events.size(), out.capacity, summary);
  stage(queue, "pack");
  queue.run(pack_boards{}, in.boards.size(), in, all, out);
  queue.run(pack_events{}, in.events.size(), in, all, out);
}

/// Measures all boards, decides, and packs what is kept. `Decide` is the kernel that decides.
template <class Decide>
struct two_pass_plan {
  using columns = frame_columns;

  template <class Queue>
  static void run(Queue& queue, const batch_view& in, const columns& all, output_view out,
                  frame_summary* summary) {
    stage(queue, "measure");
    queue.run(measure_boards{}, in.boards.size(), in, all);
    stage(queue, "select");
    queue.run(Decide{}, in.events.size(), in, all);
    pack_accepted(queue, in, all, out, summary);
  }
};

} // namespace l3
