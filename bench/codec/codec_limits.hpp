// SPDX-License-Identifier: Apache-2.0
// How few bytes waveforms could take, computed and not coded. Codecs are compared with this limit.
// It is for the whole file at once; a codec whose boards stand alone learns less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace l3::bench {

struct codec_limit {
  std::string what;
  double bytes = 0; ///< for all samples
};

/// The entropy of order 0 of what the best of four simple predictors leaves: the last sample, the
/// mean of the last two, of the last four, and the line through the last two. A waveform's first
/// sample is predicted by that of the waveform before, and counted by an entropy of its own. The
/// tables of frequencies are not counted, so that a coder needs more. `samples` are whole waveforms
/// of `per_waveform` samples, at least one.
[[nodiscard]] codec_limit entropy_limit(std::span<const std::uint16_t> samples,
                                        std::uint32_t per_waveform);

} // namespace l3::bench
