// SPDX-License-Identifier: Apache-2.0
// A computed lower limit for the size of coded waveforms. It applies to the whole file at once; a
// codec with independent boards can learn less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace l3::bench {

/// The bytes of all samples by the order-0 entropy of the residuals of the best of four simple
/// predictors: the last sample, the mean of the last two, of the last four, and the line through
/// the last two. A waveform's first sample is predicted by that of the previous waveform, with a
/// separate entropy. Frequency tables are not counted, so a coder needs more. `samples` are whole
/// waveforms of `per_waveform` samples, at least one.
[[nodiscard]] double entropy_limit(std::span<const std::uint16_t> samples,
                                   std::uint32_t per_waveform);

} // namespace l3::bench
