// SPDX-License-Identifier: Apache-2.0
// The layout of a board's data in a packed event (docs/formats.md, section 7): the bytes before its
// samples, the form of the samples, and their words in the packet. For boards of a well-formed
// event.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/payload.hpp"

namespace l3 {

inline constexpr std::size_t stored_header_bytes = 2 * l2::header_words;
inline constexpr std::size_t stored_footer_bytes = 2 * l2::footer_words;

[[nodiscard]] inline std::size_t stored_words_bytes(packed_board b) {
  return ((b.form & board_header_stored) != 0 ? stored_header_bytes : 0) +
         ((b.form & board_footer_stored) != 0 ? stored_footer_bytes : 0);
}

/// Length of the board's packet in its fragment.
[[nodiscard]] inline std::size_t original_bytes(packed_board b) {
  return (b.form & board_raw) != 0 ? b.bytes : l2::board_bytes;
}

/// The kept records of a board as a bit mask.
[[nodiscard]] inline std::uint32_t records_of(packed_board b, std::span<const std::byte> data) {
  return (b.form & board_limited) != 0 ? load<std::uint16_t>(data.data()) : all_records;
}

[[nodiscard]] inline unsigned channels_of(packed_board b) {
  return (b.form & board_256_samples) != 0 ? 4 : 16;
}

/// The index of sample `s` of a record among the packet's sample words.
[[nodiscard]] inline std::size_t sample_word(packed_board b, unsigned record, unsigned s) {
  const unsigned channels = channels_of(b);
  const unsigned records_per_channel = l2::waveforms_per_board / channels;
  const unsigned first_sample = record % records_per_channel * l2::waveform_samples;
  return std::size_t{channels} * (first_sample + s) + record / records_per_channel;
}

/// Whether its samples are one group of the strong codec.
[[nodiscard]] inline bool is_group(packed_board b) { return (b.form & board_strong) != 0; }
[[nodiscard]] inline bool is_wide(packed_board b) { return (b.form & board_256_samples) != 0; }

/// Length of the data before the samples.
[[nodiscard]] inline std::size_t bytes_before_samples(packed_board b) {
  return ((b.form & board_limited) != 0 ? board_mask_bytes : 0) + stored_words_bytes(b);
}

// Decodes a KOTO record (docs/formats.md, section 5): 64 samples from 3 + 8N bytes. It
// intentionally shares no code with the packing kernels, so that their errors are not read back as
// valid data.

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
