// SPDX-License-Identifier: Apache-2.0
// Bare waveforms to bare KOTO records and back (docs/formats.md, section 5).
#pragma once

#include <cstdint>
#include <functional>

#include "tools/packing/byte_stream.hpp"

namespace l3 {

/// Hears how many bytes of the input are done.
using packing_progress = std::function<void(std::uint64_t)>;

/// `samples` per waveform: a multiple of 64. Throw std::runtime_error with the offset where the
/// input is wrong. The output is not closed.
void pack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell);
void unpack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                   const packing_progress& tell);

} // namespace l3
