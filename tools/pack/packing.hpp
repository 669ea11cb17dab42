// SPDX-License-Identifier: Apache-2.0
// Converts bare waveforms to bare KOTO records and back (docs/formats.md, section 5).
#pragma once

#include <cstdint>
#include <functional>

#include "tools/pack/byte_stream.hpp"

namespace l3 {

/// Called with the number of processed input bytes.
using packing_progress = std::function<void(std::uint64_t)>;

/// `samples` per waveform: a multiple of 64. These throw std::runtime_error with the offset of a
/// fault in the input. They do not close the output.
void pack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell);
void unpack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                   const packing_progress& tell);

} // namespace l3
