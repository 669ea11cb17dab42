// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes many groups of the strong codec (strong.hpp), with AVX-512 or AVX2 if the
// processor has it. All forms write the bytes of strong::encode_group and accept the groups of
// strong::decode_group. Nothing outside the spans is read or written, and a damaged group is
// reported as a value. A group has no checksum; formats that store groups add one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/strong.hpp"

namespace l3::strong {

/// The shape of waveforms with this number of samples, a multiple of 64.
[[nodiscard]] constexpr shape shape_of(std::uint32_t samples) {
  return samples % lane_samples == 0 ? shape::long_ones : shape::short_ones;
}

[[nodiscard]] constexpr std::size_t groups_of(std::size_t records) {
  return (records + group_records - 1) / group_records;
}

/// Fills up whole groups of which the first `given` samples exist, at least one record: the last
/// record is repeated.
void fill_up(std::span<std::uint16_t> groups, std::size_t given);

/// Room that encode needs for its output, however noisy the waveforms are.
[[nodiscard]] constexpr std::size_t max_encoded_bytes(std::size_t groups) {
  return groups * max_group_bytes;
}

/// Encodes samples.size() / 1024 groups to the start of `out` and returns the number of bytes used.
/// Aborts unless the samples are whole groups and `out` has max_encoded_bytes for them. It may
/// write to all of that room, and leaves garbage after the used bytes.
[[nodiscard]] std::size_t encode(std::span<const std::uint16_t> samples, shape of,
                                 std::span<std::byte> out);

struct decode_result {
  std::size_t groups = 0; ///< number of decoded valid groups, 1024 samples each
  std::size_t bytes = 0;  ///< length of these groups: the next or damaged group begins here
  bool damaged = false;   ///< the group there is truncated, or no encoder wrote it
};

/// Decodes consecutive groups until the input ends, `samples` is full, or a group is damaged.
/// Aborts unless `samples` has room for whole groups. It may write to all of `samples`.
[[nodiscard]] decode_result decode(std::span<const std::byte> groups, shape of,
                                   std::span<std::uint16_t> samples);

/// encode and decode for one instruction set, so that tests and benchmarks can compare the sets.
struct group_codec {
  const char* name;
  std::size_t (*encode)(std::span<const std::uint16_t> samples, shape of, std::span<std::byte> out);
  decode_result (*decode)(std::span<const std::byte> groups, shape of,
                          std::span<std::uint16_t> samples);
};

/// The forms that this processor can run. encode and decode use the first; the last is portable.
[[nodiscard]] std::span<const group_codec> group_codecs();

} // namespace l3::strong
