// SPDX-License-Identifier: Apache-2.0
// The kept events of a frame's output as one range of bytes, to compare the outputs of executors.
// The serial executor is the reference.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpu/memory/frame.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/block.hpp"
#include "transport/format/input_batch.hpp"

namespace l3 {
struct selection_program;
}

namespace l3::bench {

/// Returns the packed events without the gaps between their extents. Events that lie outside the
/// output are left out.
[[nodiscard]] std::vector<std::byte> packed_events(std::span<const event_result> results,
                                                   std::span<const std::byte> output);

/// Returns the packed events that the serial executor makes of a batch. `fill` fills the batch;
/// without `program` every event is kept.
[[nodiscard]] std::vector<std::byte> packed_on_host(const batch_capacity& capacity, codec_id codec,
                                                    const selection_program* program,
                                                    const std::function<void(input_batch&)>& fill);

} // namespace l3::bench
