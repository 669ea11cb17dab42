// SPDX-License-Identifier: Apache-2.0
// The plan that reads each packet twice: once to measure it, and for kept events once more to pack
// it. Every executor runs the same source.
//
// A plan is a type with the columns that its kernels exchange, and run(), which enqueues the
// kernels. There are two others: one_pass_plan.hpp, for runs that keep everything, gives the
// same bytes; engine/selecting_plan.hpp runs the configured algorithms and then packs like this
// plan.
#pragma once

#include "selection/packing/encode.hpp"
#include "selection/packing/find_packets.hpp"
#include "selection/packing/keep_all.hpp"
#include "selection/packing/measure.hpp"
#include "selection/packing/pack.hpp"
#include "selection/packing/pack_events.hpp"
#include "selection/packing/place.hpp"
#include "selection/packing/stage.hpp"

namespace l3 {

/// Enqueues the kernels that place and pack the accepted events. The length of a KOTO record
/// follows from its measurement; the strong codec has to encode first.
template <class Queue>
void pack_accepted(Queue& queue, const batch_view& in, const frame_columns& all, output_view out,
                   frame_summary* summary) {
  const auto place = [&] {
    stage(queue, "place");
    queue.run(place_boards{}, in.events.size(), in, all);
    queue.run(place_events{}, 1, all, in.events.size(), out.capacity, summary);
    stage(queue, "pack");
  };
  if (all.encoded.size() == 0) {
    place();
    queue.run(pack_boards{}, in.boards.size(), in, all, out);
  } else if constexpr (can_encode<Queue>) {
    stage(queue, "encode");
    queue.run(encode_boards{}, encode_boards::blocks(in), in, all);
    place();
    queue.run(copy_encoded_boards{}, in.boards.size(), in, all, out);
  }
  queue.run(pack_events{}, in.events.size(), in, all, out);
}

/// Measures all boards, decides, and packs the kept events. `Decide` is the kernel that decides.
template <class Decide>
struct two_pass_plan {
  using columns = frame_columns;

  template <class Queue>
  static void run(Queue& queue, const batch_view& in, const columns& all, output_view out,
                  frame_summary* summary) {
    find_packets_first(queue, in, all);
    stage(queue, "measure");
    queue.run(measure_boards{}, in.boards.size(), in, all);
    stage(queue, "select");
    queue.run(Decide{}, in.events.size(), in, all);
    pack_accepted(queue, in, all, out, summary);
  }
};

} // namespace l3
