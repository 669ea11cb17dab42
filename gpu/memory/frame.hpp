// SPDX-License-Identifier: Apache-2.0
// The frame, the unit that moves through the node. A frame has the input that the receivers fill,
// memory for computing, the output, and its own queue. The engine creates all frames at the start,
// and they circulate: free, filling, running, draining, free.
//
// This header is the part of a frame for the rest of the daemon; the engine adds the queue and the
// device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transport/format/histograms.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// The result of one event of a frame.
struct event_result {
  std::uint64_t offset = 0;         ///< start of the event's extent in the frame's output
  std::uint32_t bytes = 0;          ///< length of the packed event; 0 unless kept
  std::uint32_t original_bytes = 0; ///< length of the event's fragments
  std::uint32_t flags = 0;          ///< event_flag bits, including those found by decoding
  std::uint16_t boards_damaged = 0; ///< boards that cannot be decoded and are stored raw
  std::uint16_t boards_opaque = 0;
  std::uint8_t kept = 0; ///< 1: selected and packed; not a bool, as a device may write any value
  std::uint8_t reserved[3] = {};
};

/// The contribution of one frame to the histograms of a spill.
struct frame_histograms {
  std::uint32_t spill = 0;
  std::span<const channel_sums> channels; ///< by input
  std::span<const std::uint32_t> counts;  ///< the event_counts
};

struct frame {
  std::uint32_t index = 0; ///< this frame's place in engine::frames()
  input_batch input;       ///< used by the receivers while the frame is filling
  std::span<std::byte> output_memory;

  // Valid from a successful wait() until the next start(); all of it is host memory.
  std::span<const event_result> results;        ///< one per event of the input, in the same order
  std::span<const event_summary> summaries;     ///< likewise with a selection; otherwise empty
  std::span<const frame_histograms> histograms; ///< by spill, if there are histograms
  std::span<const std::byte> output; ///< the extents of all events, in order; a kept event
                                     ///< takes the first results[i].bytes of its extent
  std::string error;                 ///< why wait() failed
};

} // namespace l3
