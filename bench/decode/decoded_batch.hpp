// SPDX-License-Identifier: Apache-2.0
// The output of the decoder for one batch: the waveforms, minimum and N of each, and for every
// event a list of the waveforms that may have a pulse. Records are numbered 16 × board + record in
// the order of docs/formats.md.
#pragma once

#include <cstdint>

#include "gpu/columns/checks.hpp"
#include "gpu/memory/buffer.hpp"
#include "gpu/memory/column.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

enum class board_state : std::uint8_t {
  not_decoded, ///< opaque, or no full packet: its records are not written
  damaged,     ///< a tag is wrong: only the samples are written, unchanged
  sound,
};

struct decoded_batch {
  column<std::uint16_t> samples; ///< 64 per record, record by record
  column<std::uint16_t> minimum; ///< by record
  column<std::uint8_t> bits;     ///< N, by record
  column<board_state> boards;

  /// Records whose maximum exceeds their minimum by more than the threshold. Those of an event
  /// begin at 16 × its first board, in any order.
  column<std::uint32_t> hits;
  column<std::uint32_t> hit_counts; ///< by event

  column<std::uint32_t> cursor; ///< one word: the next work item of a block

  /// With more boards a sample's index would not fit 32 bits.
  static constexpr std::uint32_t most_boards =
      ~std::uint32_t{0} / (l2::waveforms_per_board * l2::waveform_samples);

  /// Throws std::out_of_range if `boards` exceeds most_boards.
  [[nodiscard]] static decoded_batch take(region& from, std::uint32_t events,
                                          std::uint32_t boards) {
    if (boards > most_boards) fail_range("decoding boards", boards, most_boards);
    const std::uint32_t records = boards * l2::waveforms_per_board;
    decoded_batch d;
    d.samples = from.take<std::uint16_t>(records * l2::waveform_samples);
    d.minimum = from.take<std::uint16_t>(records);
    d.bits = from.take<std::uint8_t>(records);
    d.boards = from.take<board_state>(boards);
    d.hits = from.take<std::uint32_t>(records);
    d.hit_counts = from.take<std::uint32_t>(events);
    d.cursor = from.take<std::uint32_t>(1);
    return d;
  }
};

} // namespace l3
