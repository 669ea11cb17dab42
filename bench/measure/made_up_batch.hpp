// SPDX-License-Identifier: Apache-2.0
// A batch of events to measure with, as the receivers would leave it after a spill of datagrams:
// every crate, every board, waveforms with a realistic mix of N, each fragment in pieces.
#pragma once

#include <cstdint>

#include "transport/format/batch_capacity.hpp"
#include "transport/format/input_batch.hpp"

namespace l3::bench {

inline constexpr std::uint32_t piece_bytes = 8000; ///< as `building.chunk_bytes` has it

/// What such a batch needs.
[[nodiscard]] batch_capacity made_up_capacity(std::uint32_t events);

/// Fills it with as many events as its table of events holds, the same each time.
void make_up_batch(input_batch& batch);

/// Bytes of the fragments in it: what rates count.
[[nodiscard]] std::uint64_t fragment_bytes(const input_batch& batch);

} // namespace l3::bench
