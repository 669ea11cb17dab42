// SPDX-License-Identifier: Apache-2.0
// The layout of a board's data in a packed event (docs/formats.md, section 7): the bytes before its
// samples, the form of the samples, and their words in the packet. For boards of a well-formed
// event.
#pragma once

#include <cstddef>
#include <cstdint>
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

} // namespace l3
