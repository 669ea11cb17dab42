// SPDX-License-Identifier: Apache-2.0
// How kernels read the bytes of a fragment in pieces, and how a block copies a board packet into
// shared memory. There the samples of both kinds of boards are 64 rows of 16 *lanes*, one lane for
// each record.
//
// Kernels trust the tables, which the host wrote consistently. They do not trust the received
// bytes: they use none of them as an index or a length, and so read nothing outside the
// fragment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/executors/block.hpp"
#include "gpu/memory/column.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/block.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

/// The event and the fragment of a board, by their indices in the frame.
struct alignas(8) board_home {
  std::uint32_t event;
  std::uint32_t fragment;
};

/// A batch for the kernels: the used part of the tables of an input_batch.
struct batch_view {
  const std::byte* input = nullptr;
  column<const event_entry> events;
  column<const fragment_entry> fragments;
  column<const piece_offset> pieces;
  column<const board_entry> boards;
  column<board_home> homes; ///< by board; find_boards writes them before other kernels read them

  [[nodiscard]] L3_FN const event_entry& event_of(std::uint32_t board) const {
    return events[homes[board].event];
  }
  [[nodiscard]] L3_FN const fragment_entry& fragment_of(std::uint32_t board) const {
    return fragments[homes[board].fragment];
  }
};

/// The same address. The caller guarantees that it is a multiple of `alignment`, so that a device
/// loads or stores there by one access, not by one for each byte.
template <std::size_t alignment, class P>
[[nodiscard]] L3_FN P* aligned(P* p) {
  return static_cast<P*>(__builtin_assume_aligned(p, alignment));
}

/// Calls f(p, from, n) for each contiguous run of the fragment's bytes offset … offset + bytes − 1:
/// n bytes are at p, the first of which is byte number `from` of the range.
template <class F>
L3_FN void for_each_run(const batch_view& in, const fragment_entry& fragment, std::uint32_t offset,
                        std::uint32_t bytes, F&& f) {
  for (std::uint32_t from = 0; from < bytes;) {
    const std::uint32_t piece = (offset + from) / fragment.piece_bytes;
    const std::uint32_t within = offset + from - piece * fragment.piece_bytes;
    const std::uint32_t left = fragment.piece_bytes - within;
    const std::uint32_t n = bytes - from < left ? bytes - from : left;
    f(in.input + in.pieces[fragment.first_piece + piece] + within, from, n);
    from += n;
  }
}

/// Copies a range of the fragment to `out`, byte for byte.
template <block B>
L3_FN void copy_range(const B& b, const batch_view& in, const fragment_entry& fragment,
                      std::uint32_t offset, std::uint32_t bytes, std::byte* out) {
  for_each_run(in, fragment, offset, bytes,
               [&](const std::byte* p, std::uint32_t from, std::uint32_t n) {
                 for_each(b, n, [&](std::uint32_t i) { out[from + i] = p[i]; });
               });
}

/// Copies n big-endian words to `to`, in the machine's byte order.
template <block B>
L3_FN void swap_in(const B& b, const std::byte* words, std::uint16_t* to, std::uint32_t n) {
  const std::byte* const from = aligned<sizeof(std::uint16_t)>(words);
  for_each(b, n, [&](std::uint32_t i) {
    to[i] = load_big<std::uint16_t>(from + sizeof(std::uint16_t) * i);
  });
}

/// Copies n bytes from shared memory to any address. It may read copy_slack bytes after them.
inline constexpr std::uint32_t copy_slack = 16;
template <block B>
L3_FN void copy_out(const B& b, const std::byte* made, std::byte* to, std::uint32_t n) {
  for_each(b, n, [&](std::uint32_t i) { to[i] = made[i]; });
}

/// The length of the board's packet within the fragment: the whole packet if the tables are right.
[[nodiscard]] L3_FN inline std::uint32_t packet_bytes(const board_entry& board,
                                                      const fragment_entry& fragment) {
  const std::uint32_t room = board.offset < fragment.bytes ? fragment.bytes - board.offset : 0;
  return board.bytes < room ? board.bytes : room;
}

/// Whether the packet has the full length and begins at a word. Kernels decode no other packet.
[[nodiscard]] L3_FN inline bool is_full_packet(const board_entry& board,
                                               const fragment_entry& fragment) {
  return packet_bytes(board, fragment) == l2::board_bytes &&
         (board.offset | fragment.piece_bytes) % sizeof(std::uint16_t) == 0;
}

/// How header and footer of a packet differ from those that are expected: board_form bits, or
/// board_raw if a tag is wrong. `word(n)`: word n of the packet, in the machine's byte order.
template <class Word>
[[nodiscard]] L3_FN std::uint32_t form_of_outer_words(const event_entry& event, std::uint32_t slot,
                                                      Word&& word) {
  std::uint32_t header = 0;
  for (int n = 0; n < l2::header_words; ++n)
    header |= word(n) ^
              l2::expected_header_word(n, event.spill, event.number, slot, event.reference_time);
  std::uint32_t footer = 0;
  for (int n = l2::board_words - l2::footer_words; n < l2::board_words; ++n)
    footer |= word(n) ^ l2::footer_tag;
  if (((header & l2::wide_tag_mask) | (footer & l2::footer_tag_mask)) != 0) return board_raw;
  std::uint32_t form = 0;
  if (header != 0) form |= board_header_stored;
  if (footer != 0) form |= board_footer_stored;
  return form;
}

inline constexpr std::uint32_t packet_lanes = l2::waveforms_per_board;
inline constexpr std::uint32_t packet_rows = l2::waveform_samples;

/// The number of the record in a lane. A 256-sample board has four channels in a row of words, and
/// the samples of a channel make four records: lane 4 j + c has samples 64 j … 64 j + 63 of channel
/// c, which are record 4 c + j.
[[nodiscard]] L3_FN constexpr std::uint32_t record_of(std::uint32_t lane, board_kind kind) {
  return kind == board_kind::sampling_125_mhz ? lane : 4 * (lane % 4) + lane / 4;
}

/// A full packet in shared memory, with words in the machine's byte order including tags.
class staged_packet {
public:
  [[nodiscard]] L3_FN const std::uint16_t* header() const { return words_ + lead; }
  [[nodiscard]] L3_FN const std::uint16_t* footer() const { return samples() + l2::sample_words; }
  /// Row s of lane l is at [16 s + l].
  [[nodiscard]] L3_FN const std::uint16_t* by_lane(board_kind kind) const {
    return kind == board_kind::sampling_125_mhz ? samples() : by_lane_;
  }

  /// Copies the packet. It can be read after the next sync().
  template <block B>
  L3_FN void stage(const B& b, const batch_view& in, const fragment_entry& fragment,
                   const board_entry& board) {
    for_each_run(in, fragment, board.offset, l2::board_bytes,
                 [&](const std::byte* p, std::uint32_t from, std::uint32_t n) {
                   swap_in(b, p, words_ + lead + from / 2, n / 2);
                   prefetch(b, p + n, n); // packets are usually adjacent
                 });
    if (board.kind == board_kind::sampling_125_mhz) return;
    b.sync();
    // Moves four channels, 8 bytes, at a time: word row 64 j + s becomes quarter j of row s.
    constexpr std::size_t quarter = 4 * sizeof(std::uint16_t);
    const std::byte* const from = aligned<quarter>(reinterpret_cast<const std::byte*>(samples()));
    std::byte* const to = aligned<quarter>(reinterpret_cast<std::byte*>(by_lane_));
    for_each(b, 4, packet_rows, [&](std::uint32_t j, std::uint32_t s) {
      store(to + quarter * (4 * s + j),
            load<std::uint64_t>(from + quarter * (packet_rows * j + s)));
    });
  }

private:
  static constexpr std::uint32_t lead = 32 - l2::header_words; // the samples start at a cache line

  [[nodiscard]] L3_FN const std::uint16_t* samples() const {
    return words_ + lead + l2::header_words;
  }

  alignas(64) std::uint16_t words_[lead + l2::board_words];
  alignas(64) std::uint16_t by_lane_[l2::sample_words];
};

} // namespace l3
