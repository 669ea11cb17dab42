// SPDX-License-Identifier: Apache-2.0
// Synthetic waveforms for measurements with a detector's mix of N: most channels have noise of a
// few bits, some a pulse of up to 14. Equal waveforms would favour code that branches on N.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l3::bench {

/// `waveforms` × 64 samples, always the same.
[[nodiscard]] std::vector<std::uint16_t> made_up_waveforms(std::size_t waveforms);

} // namespace l3::bench
