// SPDX-License-Identifier: Apache-2.0
// Encodes many groups of the strong codec (strong.hpp) one after the other, and decodes them, with
// AVX-512 or AVX2 where the processor has it. All forms write the bytes of strong::encode_group and
// accept what strong::decode_group accepts. They read and write nothing outside the spans, and
// report a damaged group as a value. A group has no checksum: who stores groups adds one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/strong.hpp"

namespace l3::strong {

/// Room that encode needs for its output, however noisy the waveforms are.
[[nodiscard]] constexpr std::size_t max_encoded_bytes(std::size_t groups) {
  return groups * max_group_bytes;
}

/// Encodes samples.size() / 1024 groups to the begin of `out` and returns the number of bytes used.
/// Aborts unless the samples are whole groups and `out` has max_encoded_bytes for them. It may
/// write to all of that room, and leaves garbage behind the bytes used.
[[nodiscard]] std::size_t encode(std::span<const std::uint16_t> samples, shape of,
                                 std::span<std::byte> out);

struct decode_result {
  std::size_t groups = 0; ///< good groups that were decoded, 1024 samples each
  std::size_t bytes = 0;  ///< length of these groups: the next or damaged group begins here
  bool damaged = false;   ///< the group there is cut off, or no encoder made it
};

/// Decodes groups one after the other until the input ends, `samples` is full, or a group is
/// damaged. Aborts unless `samples` is room for whole groups. It may write to all of `samples`.
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
