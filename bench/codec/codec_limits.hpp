// SPDX-License-Identifier: Apache-2.0
// How few bytes waveforms could take, reckoned and not coded: what codecs are held against. Both
// limits are for the whole file at once; a codec whose boards stand alone learns less.
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

/// The ideal length of the code of an adaptive arithmetic coder that learns from the begin of the
/// file and is told nothing. It blends the four predictors, a running mean and a recursive
/// least-squares filter of six taps by the inverse fourth power of their recent errors. It counts
/// the residuals that it saw, by the size of the recent ones in half octaves; for what a context
/// has rarely seen it asks the counts of all contexts, and 16 flat bits if they never saw it
/// either.
[[nodiscard]] codec_limit adaptive_limit(std::span<const std::uint16_t> samples,
                                         std::uint32_t per_waveform);

} // namespace l3::bench
