// SPDX-License-Identifier: Apache-2.0
// The plan of a run without a selection: measures all boards and packs them. Tests give it a kernel
// that decides between the two.
//
// A plan is a type with the columns that its kernels exchange, and run(), which enqueues the
// kernels. engine/selecting_plan.hpp runs the configured algorithms, and then packs like this one.
#pragma once

#include <type_traits>

#include "selection/packing/deliver.hpp"
#include "selection/packing/encode.hpp"
#include "selection/packing/find_boards.hpp"
#include "selection/packing/measure.hpp"
#include "selection/packing/pack.hpp"
#include "selection/packing/pack_events.hpp"
#include "selection/packing/pack_whole_events.hpp"
#include "selection/packing/place.hpp"
#include "selection/packing/stage.hpp"

namespace l3 {

/// Enqueues the kernels that pack the accepted events of measured boards, except deliver().
/// The length of a KOTO record follows from its measurement; the strong codec has to encode first.
template <class Queue>
void pack_accepted(Queue& queue, const batch_view& in, const frame_columns& all,
                   const output_view& out) {
  const auto place = [&] {
    stage(queue, "place");
    queue.run(place_boards{}, in.events.size(), in, all, out);
  };
  const auto pack = [&] {
    stage(queue, "pack");
    queue.run(pack_boards{}, in.boards.size(), in, all, out);
  };
  if (!all.has_slots()) {
    place();
    return pack();
  }
  if constexpr (can_encode<Queue>) {
    if (all.codec == codec_id::strong) {
      stage(queue, "encode");
      queue.run(encode_boards{}, encode_boards::blocks(in), in, all);
    }
  }
  // With the strong codec only boards without some waveforms are left.
  if (all.codec == codec_id::koto || all.selected.payloads.size() != 0) pack();
  place();
}

/// Enqueues the kernel that completes the packed events in the output, with their boards if these
/// are in slots.
template <class Queue>
void deliver(Queue& queue, const batch_view& in, const frame_columns& all, const output_view& out) {
  stage(queue, "deliver");
  if constexpr (!Queue::memory::has_device) { // a device always has slots
    if (!all.has_slots()) return queue.run(pack_events{}, in.events.size(), in, all, out);
  }
  const std::uint32_t blocks = deliver_events::blocks<Queue>(in);
  queue.run(deliver_events{}, blocks, in, all, out, blocks);
}

/// No kernel decides: every event is kept.
struct keep_all {};

/// `Decide` is the kernel that decides, or keep_all.
template <class Decide>
struct packing_plan {
  using columns = frame_columns;
  static constexpr bool keeps_all = std::is_same_v<Decide, keep_all>;

  /// Enqueues everything but deliver().
  template <class Queue>
  static void pack(Queue& queue, const batch_view& in, const columns& all, const output_view& out) {
    find_boards_first(queue, in, all);
    if constexpr (keeps_all) {
      if (all.codec == codec_id::koto && all.has_slots()) {
        stage(queue, "pack");
        queue.run(measure_and_pack_boards{}, in.boards.size(), in, all);
        stage(queue, "place");
        queue.run(place_boards{}, in.events.size(), in, all, out);
        return;
      }
    }
    stage(queue, "measure");
    queue.run(measure_boards{}, in.boards.size(), in, all);
    if constexpr (!keeps_all) {
      stage(queue, "select");
      queue.run(Decide{}, in.events.size(), in, all);
    }
    pack_accepted(queue, in, all, out);
  }

  template <class Queue>
  static void run(Queue& queue, const batch_view& in, const columns& all, const output_view& out) {
    if constexpr (keeps_all && !Queue::memory::has_device) {
      if (!all.has_slots()) {
        stage(queue, "pack");
        return queue.run(pack_whole_events{}, in.events.size(), in, all, out);
      }
    }
    pack(queue, in, all, out);
    deliver(queue, in, all, out);
  }
};

} // namespace l3
