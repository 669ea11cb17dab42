// SPDX-License-Identifier: Apache-2.0
// A synthetic batch of events, as the receivers would leave it after a spill of datagrams: every
// crate, every board, waveforms with a realistic mix of N, each fragment in pieces.
#pragma once

#include <cstdint>

#include "bench/harness/held_batch.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/input_batch.hpp"

namespace l3::bench {

/// The memory of such a batch.
[[nodiscard]] batch_capacity made_up_capacity(std::uint32_t events);

/// Fills the batch's event table, always with the same events, numbered from 1, of several spills
/// in turn. `varied`: boards of 125 MHz send 8, 16 … 64 rows of samples, each next number half as
/// often, and the number in their first word. Only the decoder of bench/decode takes such packets.
void make_up_batch(input_batch& batch, std::uint32_t spills = 1, bool varied = false);

} // namespace l3::bench
