// SPDX-License-Identifier: Apache-2.0
// Converts bare waveforms to a file of the strong codec and back (docs/formats.md, section 5): a
// head, sections of groups with a checksum each, and an end, so that a truncated or damaged file is
// always detected.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tools/pack/byte_stream.hpp"
#include "transport/format/block.hpp"

namespace l3 {

struct strong_file_header {
  std::array<char, 4> magic{'K', 'L', '3', 'W'};
  std::uint8_t version = 1;
  codec_id codec = codec_id::strong;
  std::uint16_t reserved = 0;
  std::uint32_t samples = 0; ///< of a waveform
  std::uint32_t crc = 0;     ///< of the 12 bytes before it
};
static_assert(sizeof(strong_file_header) == 16);

struct strong_section_header {  // followed by the groups
  std::uint32_t records = 0;    ///< runs of 64 samples, 1 to 4096; 0 ends the file
  std::uint32_t bytes = 0;      ///< of the groups
  std::uint32_t groups_crc = 0; ///< in the final header: number of all records modulo 2^32
  std::uint32_t crc = 0;        ///< of the 12 bytes before it
};
static_assert(sizeof(strong_section_header) == 16);
inline constexpr std::uint32_t max_section_records = 4096;

/// The equivalents of pack_stream and unpack_stream. The file has its number of samples per
/// waveform; a different `samples` is refused.
void pack_strong(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell);
void unpack_strong(byte_input& in, byte_output& out, std::optional<std::uint32_t> samples,
                   const packing_progress& tell);

} // namespace l3
