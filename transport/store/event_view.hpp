// SPDX-License-Identifier: Apache-2.0
// Reading packed events (docs/formats.md, section 7). A view is made only of an event that keeps
// every rule of the format that can be seen without decoding, so its holder reads it without
// checks. Bytes that break a rule give no view, never a crash. Only decoding tells whether an
// encoder made a group of the strong codec, and whether samples fit their words; data is decoded
// once, when its samples are asked for, and damage of it is told then. From a view of an event that
// kept all its waveforms as they came, the original fragments come back, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/payload.hpp"
#include "transport/store/strong_group.hpp"

namespace l3 {

/// The waveforms of a board that is not raw.
struct board_waveforms {
  std::uint32_t records = 0; ///< bit r: record r is there
  strong_samples samples{};  ///< record by record; 0 where one is not

  /// Of a channel of this board; empty if its waveform was not kept.
  [[nodiscard]] std::span<const std::uint16_t> channel(unsigned c, unsigned channels) const {
    const std::size_t length = samples.size() / channels;
    const unsigned first_record = c * l2::waveforms_per_board / channels;
    if ((records >> first_record & 1) == 0) return {};
    return std::span(samples).subspan(c * length, length);
  }
};

class packed_event_view {
public:
  /// The event at the start of `bytes`, which may go on behind it. `codec` is that of its block;
  /// nothing: it is in none, as in a frame's output.
  [[nodiscard]] static std::optional<packed_event_view>
  parse(std::span<const std::byte> bytes, std::optional<codec_id> codec = std::nullopt);

  [[nodiscard]] const packed_event& header() const { return header_; }
  [[nodiscard]] event_key key() const { return {header_.spill, header_.number}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  [[nodiscard]] std::uint32_t fragments() const { return header_.fragments; }
  [[nodiscard]] packed_fragment fragment(std::uint32_t index) const;
  [[nodiscard]] packed_board board(std::uint32_t index) const; ///< counted over all fragments
  /// Where the data of fragment `index` starts, and how many boards stand before it.
  [[nodiscard]] std::pair<std::size_t, std::uint32_t> start_of(std::uint32_t index) const;
  [[nodiscard]] std::span<const std::byte> summary() const;
  [[nodiscard]] std::uint32_t payload_lines() const; ///< 0: no line limits what is kept
  // If any does:
  [[nodiscard]] packed_payload payload() const;
  [[nodiscard]] packed_line_payload payload_of_line(std::uint32_t index) const;

  /// Whether all waveforms of all boards are there.
  [[nodiscard]] bool is_whole() const { return limited_boards_ == 0; }
  [[nodiscard]] std::uint32_t limited_boards() const { return limited_boards_; }

private:
  packed_event_view() = default;
  [[nodiscard]] bool well_formed(std::optional<codec_id> codec);
  [[nodiscard]] bool board_well_formed(packed_board board, std::size_t at) const;
  [[nodiscard]] bool payload_well_formed() const;
  [[nodiscard]] std::size_t summary_offset() const;
  /// Between the board table and the summary.
  [[nodiscard]] std::span<const std::byte> behind_tables() const;
  [[nodiscard]] std::size_t data_offset() const;

  packed_event header_;
  std::uint32_t limited_boards_ = 0;
  std::span<const std::byte> bytes_;
};

/// Replaces `out` by the original bytes of fragment `index`; false: a board of it is damaged, and
/// `out` is of no use. The words of waveforms that were not kept are 0, which is no sample's word:
/// callers ask is_whole() or absent_words().
/// Allocates only while `out` has not grown to a fragment's size. `decode` decodes the groups;
/// gpu/codec has a faster one.
[[nodiscard]] bool rebuild_fragment(const packed_event_view& event, std::uint32_t index,
                                    std::vector<std::byte>& out,
                                    group_decoder decode = unpack_strong_groups);

/// The waveforms of board `index`, counted over all fragments; no other board is decoded.
/// Nothing: the board is raw, or damaged.
[[nodiscard]] std::optional<board_waveforms>
unpack_board(const packed_event_view& event, std::uint32_t index,
             group_decoder decode = unpack_strong_groups);

/// A mask for each board of fragment `index`: bit r is set if record r is there. The mask of a raw
/// board has all bits.
[[nodiscard]] std::vector<std::uint16_t> kept_records(const packed_event_view& event,
                                                      std::uint32_t index);

/// The data of the boards of fragment `index` of which not all records are there.
[[nodiscard]] std::vector<std::span<const std::byte>> limited_data(const packed_event_view& event,
                                                                   std::uint32_t index);

/// The offsets, in fragment `index`, of the words of samples whose waveforms were not kept.
[[nodiscard]] std::vector<std::uint32_t> absent_words(const packed_event_view& event,
                                                      std::uint32_t index);

/// Gives the absent words of a fragment that was rebuilt their original bytes: what then differs
/// from the original differs by a mistake. `original(at)` points to the two bytes that came there.
template <class Original>
void fill_absent_words(const packed_event_view& event, std::uint32_t index,
                       std::vector<std::byte>& rebuilt, const Original& original) {
  for (const std::uint32_t at : absent_words(event, index))
    std::memcpy(rebuilt.data() + at, original(at), sizeof(std::uint16_t));
}

} // namespace l3
