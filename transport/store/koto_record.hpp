// SPDX-License-Identifier: Apache-2.0
// Decodes a KOTO record (docs/formats.md, section 5): 64 samples from 3 + 8N bytes. It
// intentionally shares no code with the packing kernels, so that their errors are not read back as
// valid data.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

using waveform = std::array<std::uint16_t, l2::waveform_samples>;

inline constexpr std::size_t koto_head_bytes = 3;
inline constexpr unsigned max_sample_bits = 16;

/// Length of the record at the start of `bytes`; 0 if there are too few bytes, or for a width above
/// 16.
[[nodiscard]] inline std::size_t koto_record_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  const auto width = std::to_integer<unsigned>(bytes[0]);
  if (width > max_sample_bits) return 0;
  const std::size_t length = koto_head_bytes + std::size_t{8} * width;
  return length <= bytes.size() ? length : 0;
}

/// Decodes a record with a length from koto_record_bytes(). An invalid sample beyond 16 bits
/// becomes 65535, which no board has.
inline void unpack_koto_record(std::span<const std::byte> record, waveform& samples) {
  const auto width = std::to_integer<unsigned>(record[0]);
  const auto lowest = load<std::uint16_t>(&record[1]);
  // Each difference is extracted from the four bytes in which it begins; zeros at the end make that
  // possible for the last ones.
  // be read alike.
  std::array<std::byte, std::size_t{8} * max_sample_bits + sizeof(std::uint32_t)> differences{};
  std::memcpy(differences.data(), record.data() + koto_head_bytes, std::size_t{8} * width);
  const std::uint32_t mask = (1U << width) - 1;
  for (unsigned i = 0; i < samples.size(); ++i) {
    const unsigned bit = i * width;
    const auto word = load<std::uint32_t>(differences.data() + bit / 8);
    const std::uint32_t sample = lowest + ((word >> (bit % 8)) & mask);
    samples[i] = static_cast<std::uint16_t>(std::min(sample, 0xffffU));
  }
}

} // namespace l3
