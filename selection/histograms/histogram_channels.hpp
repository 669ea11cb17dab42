// SPDX-License-Identifier: Apache-2.0
// histogram_channels: a block for each board of the readout and each spill of the frame adds up
// pedestal, noise, pulses and times of the board's inputs in the frame's events. No other block
// writes the sums of these inputs, so the kernel needs no atomics in global memory.
//
// Events are processed in chunks. The block first finds, for each event of a chunk, the batch row
// of its board and the place of the first samples. Then each item of a grid, a stripe of the
// chunk's events and one input, adds up in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpu/executors/atomics.hpp"
#include "selection/algorithms/pulse_trace.hpp"
#include "selection/histograms/noise_log.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct histogram_channels {
  static constexpr std::string_view name = "histogram_channels";
  static constexpr blocks_for run_for = blocks_for::readout_board;
  using reads = slot_list<pulses, board_signals>;
  using writes = slot_list<>;

  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t stripes = 4;
  static constexpr std::uint32_t chunk = 64; ///< events

private:
  /// A board in one event. Its first 64 ns lie in at most two pieces of the fragment: word w is at
  /// first + w before `split`, and at second + w from there on.
  struct seen_board {
    const std::byte* first;
    const std::byte* second;
    std::uint32_t row; ///< in the batch
    std::uint16_t split;
    std::uint16_t lit;
    board_kind kind;
  };
  static constexpr std::uint32_t window = packet_lanes * noise_samples; ///< words

public:
  struct shared {
    channel_sums sums[stripes][packet_lanes];
    seen_board seen[chunk];
    std::uint32_t found;
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& f,
                        const pulses::columns::const_view& pulse_rows,
                        const board_signals::columns::const_view& signals) const {
    const std::uint32_t boards = f.histograms.inputs / packet_lanes;
    const std::uint32_t place = b.index() / boards;
    const std::uint32_t number = b.index() % boards;
    const input_entry* const inputs = f.tables.inputs.data() + packet_lanes * number;
    for_each(b, stripes, packet_lanes,
             [&](std::uint32_t j, std::uint32_t c) { s.sums[j][c] = {}; });
    const std::uint32_t events = f.batch.events.size();
    for (std::uint32_t first = 0; first < events; first += chunk) {
      for_each(b, 1, [&](std::uint32_t) { s.found = 0; });
      b.sync();
      const std::uint32_t n = events - first < chunk ? events - first : chunk;
      for_each(b, n, [&](std::uint32_t k) {
        find_board(b, s, f, f.batch.events[first + k], f.histograms.spill[place], number, signals);
      });
      b.sync();
      const std::uint32_t found = s.found;
      for_each(b, stripes, packet_lanes, [&](std::uint32_t j, std::uint32_t c) {
        channel_sums sums;
        for (std::uint32_t k = j; k < found; k += stripes)
          add(sums, s.seen[k], c, inputs[c], pulse_rows);
        s.sums[j][c] += sums;
      });
      b.sync();
    }
    channel_sums* const out = f.histograms.channels(place) + packet_lanes * number;
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      channel_sums all = s.sums[0][c];
      for (std::uint32_t j = 1; j < stripes; ++j) all += s.sums[j][c];
      out[c] = all;
    });
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& f, const pulses::columns::const_view&,
                                    const board_signals::columns::const_view&) {
    for (std::uint32_t place = 0; place < f.histograms.spills; ++place) {
      for (std::uint32_t i = 0; i < f.histograms.inputs; ++i) {
        const channel_sums& c = f.histograms.channels(place)[i];
        if (c.waveforms > f.batch.events.size()) return "an input has more waveforms than events";
        if (c.lit + c.quiet > c.waveforms) return "a waveform is quiet and has a pulse";
      }
    }
    return nullptr;
  }

private:
  /// Lists the board if the event has it, is of this spill, and is sampled. The boards of an event
  /// are in the order of the readout: board `number` is at its own place, or earlier if boards
  /// before it are missing.
  template <block B>
  L3_FN static void find_board(const B& b, shared& s, const selection_frame& f,
                               const event_entry& event, std::uint32_t spill, std::uint32_t number,
                               const board_signals::columns::const_view& signals) {
    if (event.spill != spill || event.boards == 0) return;
    if (!is_sampled(f.tables.constants.run, event.spill, event.number, f.histograms.one_in)) return;
    std::uint32_t k = number < event.boards ? number : event.boards - 1;
    while (signals.number[event.first_board + k] != number)
      if (k-- == 0) return;
    const std::uint32_t row = event.first_board + k;
    const board_entry board = f.batch.boards[row];
    const fragment_entry fragment = f.batch.fragment_of(row);
    const std::uint32_t at = board.offset + l2::header_words * sizeof(std::uint16_t);
    const std::uint32_t piece = at / fragment.piece_bytes;
    const std::uint32_t split = (fragment.piece_bytes * (piece + 1) - at) /
                                static_cast<std::uint32_t>(sizeof(std::uint16_t));
    seen_board& seen = s.seen[fetch_add_within(b, &s.found, 1)];
    seen.row = row;
    seen.lit = signals.lit[row];
    seen.kind = board.kind;
    seen.split = static_cast<std::uint16_t>(split < window ? split : window);
    seen.first = byte_of(f.batch.input, f.batch.pieces.data(), fragment, at);
    seen.second = seen.first;
    if (split < window)
      seen.second = f.batch.input + f.batch.pieces[fragment.first_piece + piece + 1] -
                    split * sizeof(std::uint16_t);
  }

  /// Adds one waveform of channel c.
  L3_FN static void add(channel_sums& to, const seen_board& board, std::uint32_t c,
                        const input_entry& input, const pulses::columns::const_view& pulse_rows) {
    const bool is_slow = board.kind == board_kind::sampling_125_mhz;
    const std::uint32_t rows = is_slow ? 1 : packet_lanes / fast_trace::channels;
    if (c * rows >= packet_lanes) return;
    const std::uint32_t first = packet_lanes * board.row + c * rows;
    const std::uint32_t lit = board.lit >> c * rows & ((1U << rows) - 1);
    const std::uint64_t pedestal = pulse_rows.pedestal[first];
    to.waveforms += 1;
    to.pedestal += pedestal;
    to.pedestal_squares += pedestal * pedestal;
    to.lit += lit != 0 ? 1 : 0;
    std::uint32_t seen = 0; // flags of all rows
    for (std::uint32_t r = 0; r < rows; ++r) {
      const std::uint32_t flags = pulse_rows.flags[first + r];
      seen |= flags;
      if ((lit >> r & 1) == 0 || (flags & pulse_no_edge) != 0) continue;
      to.timed += 1;
      to.time += input.time_of(pulse_rows.time[first + r]);
    }
    if ((seen & (pulse_found | pulse_second)) != 0) return;
    to.quiet += 1;
    const std::uint32_t log = noise_log_of(variance_of(board, c));
    to.noise_log += log;
    to.noise_log_squares += log * log;
  }

  /// n Σx² − (Σx)² of n samples, one every 8 ns: word 16 k + c has sample k of channel c at 125
  /// MHz, and sample 4 k at 500 MHz. It is at most 16 · 16383², which fits 32 bits; overflows of
  /// its two terms cancel.
  [[nodiscard]] L3_FN static std::uint32_t variance_of(const seen_board& board, std::uint32_t c) {
    std::uint32_t sum = 0;
    std::uint32_t squares = 0;
    for (std::uint32_t k = 0; k < noise_samples; ++k) {
      const std::uint32_t word = packet_lanes * k + c;
      const std::byte* const from = word < board.split ? board.first : board.second;
      const std::uint32_t x = load_big<std::uint16_t>(aligned<sizeof(std::uint16_t)>(
                                  from + sizeof(std::uint16_t) * word)) &
                              l2::payload_mask;
      sum += x;
      squares += x * x; // eight squares of 14 bits fit 31 bits
    }
    return noise_samples * squares - sum * sum;
  }
};

} // namespace l3
