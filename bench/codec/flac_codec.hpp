// SPDX-License-Identifier: Apache-2.0
// FLAC, a codec for sound, on waveforms: the samples one after the other as one channel of 16 bits,
// at its usual level. Its encoder keeps a prediction filter for each frame of 4096 samples.
#pragma once

#include "bench/codec/general_codecs.hpp"

namespace l3::bench {

[[nodiscard]] general_codec flac();

} // namespace l3::bench
