// SPDX-License-Identifier: Apache-2.0
// Waveforms to measure with: bare samples from a file, or made up with a mix of N as a detector
// gives it: most channels see noise of a few bits, some a pulse of up to 14. Timing with waveforms
// that are all alike would flatter code that branches on N.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l3::bench {

/// `waveforms` × 64 samples, the same each time.
[[nodiscard]] std::vector<std::uint16_t> made_up_waveforms(std::size_t waveforms);

/// How many of the waveforms have each N from 0 to 16.
[[nodiscard]] std::vector<std::size_t> count_by_n(const std::vector<std::uint16_t>& samples);

} // namespace l3::bench
