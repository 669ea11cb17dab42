// SPDX-License-Identifier: Apache-2.0
// Reads packed events (docs/formats.md, section 7). A view exists only for an event that keeps
// every rule of the format that can be checked without decoding, so its user needs no checks.
// Invalid bytes give no view, never a crash. Only decoding shows whether an encoder wrote a group
// of the strong codec, and whether samples fit their words. Data are decoded once, when their
// samples are requested, and damage is reported then. An event that kept all its waveforms
// unchanged gives back the original fragments, byte for byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/payload.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

using strong_samples = std::array<std::uint16_t, l2::sample_words>;

/// Decodes adjacent groups of the strong codec that fill `groups`: strong::decode_all of gpu/codec.
/// `wide`: their waveforms are longer than a record. Returns false if no encoder wrote one of them.
using group_decoder = bool (*)(std::span<const std::byte> groups, bool wide,
                               std::span<std::uint16_t> samples);

using board_pulses = std::array<packed_pulse, l2::waveforms_per_board>;

/// The waveforms of a board that is not raw.
struct board_waveforms {
  std::uint32_t records = 0; ///< bit r: record r is kept
  strong_samples samples{};  ///< record by record; 0 for missing records
  board_pulses pulses{};     ///< stored instead of waveforms; other rows have no flags

  /// The samples of a channel; empty if its waveform was not kept.
  [[nodiscard]] std::span<const std::uint16_t> channel(unsigned c, unsigned channels) const {
    const std::size_t length = samples.size() / channels;
    const unsigned first_record = c * l2::waveforms_per_board / channels;
    if ((records >> first_record & 1) == 0) return {};
    return std::span(samples).subspan(c * length, length);
  }
};

class packed_event_view {
public:
  /// The event at the start of `bytes`, which may be longer. `codec`: the codec of its block;
  /// nothing for an event without a block, as in a frame's output.
  [[nodiscard]] static std::optional<packed_event_view>
  parse(std::span<const std::byte> bytes, std::optional<codec_id> codec = std::nullopt);
  /// Checks all but the boards' data, of which none are read: `bytes` may end behind the tables,
  /// at data_offset(). Only its tables, its summary and its payload table may be used then.
  /// `like`: an event with this codec. One with the same boards is checked faster.
  [[nodiscard]] static std::optional<packed_event_view>
  parse_tables(std::span<const std::byte> bytes, std::optional<codec_id> codec = std::nullopt,
               const packed_event_view* like = nullptr);

  /// Whether these are the data of such a board, of an event that keeps this part.
  [[nodiscard]] static bool is_board(event_payload kept, packed_board board,
                                     std::span<const std::byte> data);

  [[nodiscard]] const packed_event& header() const { return header_; }
  [[nodiscard]] event_key key() const { return {header_.spill, header_.number}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  [[nodiscard]] std::uint32_t fragments() const { return header_.fragments; }
  [[nodiscard]] packed_fragment fragment(std::uint32_t index) const {
    return load<packed_fragment>(bytes_.data() + sizeof(packed_event) +
                                 index * sizeof(packed_fragment));
  }
  [[nodiscard]] packed_board board(std::uint32_t index) const { ///< counted over all fragments
    return load<packed_board>(bytes_.data() + board_offset(index));
  }
  /// Length of the data of boards first … end − 1.
  [[nodiscard]] std::size_t bytes_of_boards(std::uint32_t first, std::uint32_t end) const {
    const std::byte* const table = bytes_.data() + board_offset(0);
    std::uint32_t sum = 0; // of words, which vectorises
    for (; first < end; ++first)
      sum += load<std::uint32_t>(table + first * sizeof(packed_board)) >> 16;
    return sum;
  }
  /// Offset of the data of fragment `index`, and the number of boards before it.
  [[nodiscard]] std::pair<std::size_t, std::uint32_t> start_of(std::uint32_t index) const;
  /// Where the data of the first board or raw fragment begin.
  [[nodiscard]] std::size_t data_offset() const { return data_offset(header_); }
  [[nodiscard]] static std::size_t data_offset(const packed_event& header);
  [[nodiscard]] std::span<const std::byte> summary() const;
  [[nodiscard]] std::uint32_t payload_lines() const; ///< 0: no line limits the payload
  // Only if payload_lines() is not 0:
  [[nodiscard]] packed_payload payload() const;
  [[nodiscard]] packed_line_payload payload_of_line(std::uint32_t index) const;

  /// Whether all waveforms of all boards are kept.
  [[nodiscard]] bool is_whole() const { return limited_boards_ == 0; }
  [[nodiscard]] std::uint32_t limited_boards() const { return limited_boards_; }

private:
  packed_event_view() = default;
  [[nodiscard]] bool tables_well_formed(std::optional<codec_id> codec,
                                        const packed_event_view* like);
  [[nodiscard]] std::optional<std::size_t> bytes_if_like(const packed_event_view& other) const;
  [[nodiscard]] bool boards_well_formed(std::optional<codec_id> codec);
  [[nodiscard]] std::size_t board_offset(std::uint32_t index) const {
    return sizeof(packed_event) + header_.fragments * sizeof(packed_fragment) +
           index * sizeof(packed_board);
  }
  [[nodiscard]] bool data_well_formed() const;
  [[nodiscard]] bool payload_well_formed() const;
  [[nodiscard]] std::size_t summary_offset() const;
  /// From the end of the board table on.
  [[nodiscard]] std::span<const std::byte> behind_tables() const;

  packed_event header_;
  std::uint32_t limited_boards_ = 0;
  std::uint32_t raw_bytes_ = 0; ///< of fragments
  std::span<const std::byte> bytes_;
};

/// Replaces `out` by the original bytes of fragment `index`. Returns false if one of its boards is
/// damaged; `out` is then invalid. Words of waveforms that were not kept are 0, which no sample
/// word is: see is_whole() and absent_words().
/// Allocates only until `out` has grown to a fragment's size.
[[nodiscard]] bool rebuild_fragment(const packed_event_view& event, std::uint32_t index,
                                    std::vector<std::byte>& out, group_decoder decode);

/// The waveforms of board `index`, counted over all fragments; decodes no other board. Nothing if
/// the board is raw or damaged.
[[nodiscard]] std::optional<board_waveforms>
unpack_board(const packed_event_view& event, std::uint32_t index, group_decoder decode);

/// The pulses that a board stores instead of waveforms, by row. Other rows have no flags.
[[nodiscard]] board_pulses stored_pulses(packed_board board, std::span<const std::byte> data);

/// A mask for each board of fragment `index`: bit r is set if record r is kept. A raw board has all
/// bits.
[[nodiscard]] std::vector<std::uint16_t> kept_records(const packed_event_view& event,
                                                      std::uint32_t index);

/// The data of those boards of fragment `index` whose records are not all kept.
[[nodiscard]] std::vector<std::span<const std::byte>> limited_data(const packed_event_view& event,
                                                                   std::uint32_t index);

/// The offsets, in fragment `index`, of the sample words whose waveforms were not kept.
[[nodiscard]] std::vector<std::uint32_t> absent_words(const packed_event_view& event,
                                                      std::uint32_t index);

/// Fills the absent words of a rebuilt fragment with the original bytes, so that any remaining
/// difference is an error. `original(at)` points to the two original bytes.
template <class Original>
void fill_absent_words(const packed_event_view& event, std::uint32_t index,
                       std::vector<std::byte>& rebuilt, const Original& original) {
  for (const std::uint32_t at : absent_words(event, index))
    std::memcpy(rebuilt.data() + at, original(at), sizeof(std::uint16_t));
}

/// The head of the summary of an event that was not checked, so it may say anything. Nothing if the
/// event has no summary, or too few bytes.
[[nodiscard]] std::optional<packed_summary> summary_head(std::span<const std::byte> packed);
/// Bit n: line n kept that event, as its summary says.
[[nodiscard]] inline std::uint32_t lines_that_kept(std::span<const std::byte> packed) {
  const auto summary = summary_head(packed);
  return summary ? summary->kept_by : 0;
}

/// The parts of a packed event's summary (docs/formats.md, section 7), in its bytes. Quantities
/// that a later version added are left out.
struct summary_parts {
  packed_summary head{};
  std::span<const std::byte> lines{};
  std::span<const std::byte> photons{};
  std::span<const std::byte> quantities{};
  std::span<const std::byte> hits{};
  std::span<const std::byte> reasons{};

  /// Returns nothing if the bytes are no complete summary of this version.
  [[nodiscard]] static std::optional<summary_parts> find(std::span<const std::byte> bytes);
};

/// The summary of a packed event: the results of the selection.
struct summary_view {
  packed_summary head{};
  std::vector<packed_line> lines; ///< starting with bit 0
  std::vector<photon_summary> photons;
  std::vector<std::int32_t> quantities; ///< in the order of `quantity`
  std::vector<veto_hit_summary> hits;
  std::vector<std::uint8_t> reasons; ///< line_reason by line

  /// Undefined if the event does not have it, or its writer did not know it.
  [[nodiscard]] std::int32_t value(quantity what) const {
    const auto q = static_cast<std::size_t>(what);
    return q < quantities.size() ? quantities[q] : undefined_quantity;
  }

  /// Like summary_parts::find.
  [[nodiscard]] static std::optional<summary_view> parse(std::span<const std::byte> bytes);
};

} // namespace l3
