// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/made_up_batch.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "bench/codec/waveform_mix.hpp"

namespace l3::bench {
namespace {

constexpr std::uint32_t first_spill = 7;
constexpr std::uint32_t samples_per_board = l2::sample_words;

/// The index of sample word w of a board in a record-by-record order of its samples.
std::uint32_t sample_of(std::uint32_t w, board_kind kind) {
  if (kind == board_kind::sampling_125_mhz)
    return l2::waveform_samples * (w % l2::waveforms_per_board) + w / l2::waveforms_per_board;
  constexpr std::uint32_t channels = 4;
  return samples_per_board / channels * (w % channels) + w / channels;
}

constexpr std::uint32_t all_rows = l2::waveform_samples;

/// 8 for every other board, 16 for every fourth …, 64.
std::uint32_t varied_rows(std::uint32_t board) {
  constexpr std::uint32_t step = 8;
  constexpr std::uint32_t odd_factor = 0x9e3779b9; // boards of a length are not adjacent
  const auto halvings = static_cast<std::uint32_t>(std::countl_zero(board * odd_factor));
  return step * (1 + std::min(halvings, all_rows / step - 1));
}

/// Returns the bytes of the packet.
std::uint32_t put_board(std::byte* at, const event_entry& event, const board_entry& board,
                        std::uint32_t rows, std::span<const std::uint16_t> samples) {
  std::byte* const begin = at;
  for (int w = 0; w < l2::header_words; ++w, at += 2)
    store_big(at, l2::expected_header_word(w, event.spill, event.number, board.slot,
                                           event.reference_time));
  if (rows != all_rows) store_big(begin, static_cast<std::uint16_t>(l2::header_tag | rows));
  for (std::uint32_t w = 0; w < rows * l2::waveforms_per_board; ++w, at += 2) {
    const auto sample = std::min(samples[sample_of(w, board.kind)], l2::payload_mask);
    store_big(at, static_cast<std::uint16_t>(l2::sample_tag | sample)); // pulses may overflow
  }
  for (int w = 0; w < l2::footer_words; ++w, at += 2) store_big(at, l2::footer_tag);
  return static_cast<std::uint32_t>(at - begin);
}

} // namespace

batch_capacity made_up_capacity(std::uint32_t events) {
  return capacity_of(readout::koto(), events, piece_bytes);
}

void make_up_batch(input_batch& batch, std::uint32_t spills, bool varied) {
  const readout crates = readout::koto();
  // Too many waveforms for a cache, but few enough to create quickly.
  constexpr std::uint32_t boards_made = 1 << 12;
  const auto samples = made_up_waveforms(std::size_t{boards_made} * l2::waveforms_per_board);
  std::vector<std::byte> content(l2::max_fragment_bytes);
  batch.clear();
  while (batch.used_events < batch.events.size()) {
    event_entry event;
    event.spill = first_spill + batch.used_events % spills;
    event.number = batch.used_events + 1;
    event.reference_time = event.number * 1000;
    event.first_fragment = batch.used_fragments;
    event.fragments = crates.size();
    event.first_board = batch.used_boards;
    event.boards = crates.boards();
    for (std::uint32_t c = 0; c < crates.size(); ++c) {
      const crate_readout& crate = crates.crates[c];
      const std::uint32_t first_board = batch.used_boards;
      store_big(content.data(), l2::fragment_header(event.number));
      std::uint32_t at = l2::fragment_header_bytes;
      for (std::uint8_t k = 0; k < crate.boards; ++k) {
        board_entry b;
        b.offset = static_cast<std::uint16_t>(at);
        b.slot = static_cast<std::uint8_t>(l2::first_slot + k);
        b.kind = crate.kind;
        const bool is_short = varied && crate.kind == board_kind::sampling_125_mhz;
        b.bytes = put_board(content.data() + at, event, b,
                            is_short ? varied_rows(batch.used_boards) : all_rows,
                            std::span(samples).subspan(
                                std::size_t{batch.used_boards % boards_made} * samples_per_board,
                                samples_per_board));
        at += b.bytes;
        batch.boards[batch.used_boards++] = b;
      }
      store_big(content.data() + at, l2::fragment_trailer);
      const std::uint32_t bytes = at + l2::fragment_trailer_bytes;
      fragment_entry& f = add_fragment(batch, c, std::span(content).first(bytes));
      f.first_board = first_board;
      f.boards = crate.boards;
    }
    batch.events[batch.used_events++] = event;
  }
}

} // namespace l3::bench
