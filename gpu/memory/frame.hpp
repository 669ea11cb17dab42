// SPDX-License-Identifier: Apache-2.0
// The frame, the unit that moves through the node: the input that it lends to the receivers, the
// memory to compute in, the output, and a queue of its own. Frames are made at the start and
// circulate: free, filling, running, draining, free.
//
// This is the part of a frame that the rest of the daemon sees; an engine adds its queue and its
// device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transport/format/input_batch.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

/// What became of an event of a frame.
struct event_result {
  std::uint64_t offset = 0;         ///< of the packed event in the frame's output
  std::uint32_t bytes = 0;          ///< of the packed event; 0 unless kept
  std::uint32_t original_bytes = 0; ///< of its fragments
  std::uint32_t flags = 0;          ///< event_flag bits, those found while decoding included
  std::uint16_t boards_damaged = 0; ///< stored raw because they could not be decoded
  std::uint16_t boards_opaque = 0;
  bool kept = false; ///< selected, and packed: offset and bytes are valid
  bool no_room =
      false; ///< selected, but the output was full: counted by the caller, never lost in silence
  std::uint16_t reserved = 0;
};

struct frame {
  std::uint32_t index = 0; ///< its place among the engine's frames
  input_batch input;       ///< lent to the receivers while the frame is filling
  std::span<std::byte> output_memory;

  // Valid from a successful wait() until the next start(); all of it is host memory.
  std::span<const event_result> results;    ///< one per event of the input, in its order
  std::span<const event_summary> summaries; ///< likewise, if a selection runs; else empty
  std::span<const std::byte>
      output;        ///< the packed events of all kept ones, in that order, without gaps
  std::string error; ///< why wait() failed
};

} // namespace l3
