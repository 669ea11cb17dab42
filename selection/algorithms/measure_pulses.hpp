// SPDX-License-Identifier: Apache-2.0
// measure_pulses: one block per board reads the packet once, measures it for packing like
// measure_boards, and finds its pulses while the samples are in shared memory.
//
// A waveform without a pulse gets a pedestal and, at 125 MHz, the highest in-time sample. A board
// that cannot be decoded, or is not in the readout, is unread: all its rows are zero.
#pragma once

#include <cstdint>
#include <string_view>

#include "selection/algorithms/find_fast_pulses.hpp"
#include "selection/algorithms/find_slow_pulses.hpp"
#include "selection/packing/measure.hpp"
#include "selection/sequence/algorithm.hpp"

namespace l3 {

struct measure_pulses {
  static constexpr std::string_view name = "measure_pulses";
  static constexpr blocks_for run_for = blocks_for::board;
  using reads = slot_list<>;
  using writes = slot_list<pulses, board_signals>;

  static constexpr std::uint32_t width = 128;

  struct shared {
    staged_packet packet;
    packet_findings measured;
    found_pulses found;
    union { // used in sequence
      measure_boards::lane_measures measures;
      find_slow_pulses::shared slow;
      find_fast_pulses::shared fast;
    };
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& frame,
                        const pulses::columns::view& pulse_rows,
                        const board_signals::columns::view& signals) const {
    const std::uint32_t i = b.index();
    const board_entry board = frame.batch.boards[i];
    const fragment_entry fragment = frame.batch.fragment_of(i);
    if (!measure_boards::can_be_decoded(board, fragment)) {
      measure_boards::leave_raw(b, i, board, fragment, frame.packing);
      leave_unread(b, i, pulse_rows, signals);
      return;
    }
    s.packet.stage(b, frame.batch, fragment, board);
    b.sync();
    const board_shape shape =
        measure_boards::measure_staged(b, s.packet, s.measures, s.measured, frame.batch.event_of(i),
                                       i, board, fragment, frame.packing);
    const std::uint32_t number = number_of(frame.tables, fragment.crate, board.slot);
    if ((shape.form & board_raw) != 0 || number == board_signals::unread) {
      leave_unread(b, i, pulse_rows, signals);
      return;
    }
    const input_entry* const inputs = frame.tables.inputs.data() + inputs_per_board * number;
    const std::uint16_t* const words = s.packet.by_lane(board.kind);
    if (board.kind == board_kind::sampling_125_mhz) {
      find_slow_pulses::find(b, words, s.measured, inputs, s.slow, s.found);
    } else {
      find_fast_pulses::find(b, words, s.measured, inputs, s.fast, s.found);
    }
    b.sync();
    write_rows(b, words, board.kind, inputs, s.found, i, pulse_rows);
    b.sync();
    write_signals(b, s, frame.tables, i, number, board.kind, signals);
  }

  /// Returns the promise that the output breaks; nullptr if it keeps all.
  static const char* broken_promise(const selection_frame& frame,
                                    const pulses::columns::const_view& pulse_rows,
                                    const board_signals::columns::const_view& signals) {
    for (std::uint32_t i = 0; i < frame.batch.boards.size(); ++i) {
      const board_entry& board = frame.batch.boards[i];
      const std::uint32_t number = signals.number[i];
      if (number == board_signals::unread) {
        if (signals.lit[i] != 0 || signals.trigger[i] != 0)
          return "a board that was not read gave a signal";
      } else if (inputs_per_board * (number + 1) > frame.tables.inputs.size()) {
        return "a board has a number beyond the readout";
      }
      for (std::uint32_t r = 0; r < packet_lanes; ++r) {
        const std::uint32_t row = packet_lanes * i + r;
        const pulses::columns::value pulse = pulse_rows[row];
        if ((signals.lit[i] >> r & 1U) != 0) {
          const std::uint32_t channel = channel_of(r, board.kind);
          const input_entry input = frame.tables.inputs[inputs_per_board * number + channel];
          if (input.kind == input_kind::none) return "a lit row belongs to no input";
          if ((pulse.flags & pulse_found) == 0) return "a lit row holds no pulse";
        }
        if (const char* broken = broken_pulse(pulse)) return broken;
      }
    }
    return nullptr;
  }

  [[nodiscard]] L3_FN static std::uint32_t channel_of(std::uint32_t row, board_kind kind) {
    return kind == board_kind::sampling_125_mhz ? row : row / find_fast_pulses::pulses_per_channel;
  }

  /// Writes a found pulse, unless it is less than `least_height` above its own level: then a slow
  /// baseline raised it above the pedestal, and the row has no pulse.
  template <class Trace, class Row>
  L3_FN static bool measure(const Trace& trace, const found_pulses& found, std::uint32_t r,
                            std::uint32_t least_height, Row&& pulse) {
    const std::uint32_t k = found.peak_sample[r];
    const std::int32_t peak = trace[k];
    const std::int32_t level = level_of(trace, k);
    std::uint32_t flags = found.flags[r];
    if (4 * peak - level < static_cast<std::int32_t>(4 * least_height)) {
      pulse.peak_sample = 0;
      pulse.flags = static_cast<std::uint8_t>(flags & ~std::uint32_t{pulse_found});
      return false;
    }
    const std::uint32_t edge = edge_of(trace, k, from_of(trace, found, r, level));
    if (peak >= Trace::limit) flags |= pulse_saturated;
    if (edge == no_edge) flags |= pulse_no_edge;
    pulse.peak = static_cast<std::uint16_t>(peak);
    pulse.flags = static_cast<std::uint8_t>(flags);
    pulse.time = static_cast<std::uint16_t>(edge == no_edge ? 0 : edge);
    pulse.sum = sum_of(trace, k, level);
    return true;
  }

private:
  friend class measure_pulses_by_warp; // on CUDA devices

  static constexpr std::uint32_t inputs_per_board = l2::waveforms_per_board;

  [[nodiscard]] L3_FN static std::uint32_t number_of(const selection_tables& tables,
                                                     std::uint32_t crate, std::uint32_t slot) {
    if (crate + 1U >= tables.first_board.size() || slot < l2::first_slot)
      return board_signals::unread;
    const std::uint32_t number = tables.first_board[crate] + slot - l2::first_slot;
    const bool known = number < tables.first_board[crate + 1U] &&
                       inputs_per_board * (number + 1) <= tables.inputs.size();
    return known ? number : board_signals::unread;
  }

  template <block B>
  L3_FN static void leave_unread(const B& b, std::uint32_t i,
                                 const pulses::columns::view& pulse_rows,
                                 const board_signals::columns::view& signals) {
    for_each(b, packet_lanes, [&](std::uint32_t r) { pulse_rows[packet_lanes * i + r] = {}; });
    for_each(b, 1, [&](std::uint32_t) { signals[i] = {board_signals::unread, 0, 0, 0, 0}; });
  }

  template <block B>
  L3_FN static void write_rows(const B& b, const std::uint16_t* words, board_kind kind,
                               const input_entry* inputs, found_pulses& found, std::uint32_t i,
                               const pulses::columns::view& pulse_rows) {
    const std::uint32_t first = packet_lanes * i;
    // One loop per column, so that compilers vectorise them; most rows need nothing else.
    for_each(b, packet_lanes,
             [&](std::uint32_t r) { pulse_rows.pedestal[first + r] = found.pedestal[r]; });
    for_each(b, packet_lanes, [&](std::uint32_t r) { pulse_rows.peak[first + r] = found.peak[r]; });
    for_each(b, packet_lanes, [&](std::uint32_t r) {
      pulse_rows.peak_sample[first + r] = static_cast<std::uint8_t>(found.peak_sample[r]);
    });
    for_each(b, packet_lanes, [&](std::uint32_t r) {
      pulse_rows.flags[first + r] = static_cast<std::uint8_t>(found.flags[r]);
    });
    for_each(b, packet_lanes, [&](std::uint32_t r) { pulse_rows.time[first + r] = 0; });
    for_each(b, packet_lanes, [&](std::uint32_t r) { pulse_rows.sum[first + r] = 0; });
    for_each(b, packet_lanes, [&](std::uint32_t r) { found.lit[r] = 0; });
    b.sync();
    for_each(b, packet_lanes, [&](std::uint32_t r) {
      if ((found.flags[r] & pulse_found) == 0) return;
      const std::uint32_t c = channel_of(r, kind);
      const std::uint32_t least = inputs[c].least_height;
      const auto row = pulse_rows[first + r];
      const bool is_pulse = kind == board_kind::sampling_125_mhz
                                ? measure(slow_trace{words, c}, found, r, least, row)
                                : measure(fast_trace{words, c}, found, r, least, row);
      if (is_pulse && inputs[c].kind != input_kind::none)
        found.lit[r] = static_cast<std::uint16_t>(1U << r);
    });
  }

  /// The start of the rising edge in 1/4 count: at 125 MHz the pulse's level, at 500 MHz its foot,
  /// which may lie on the previous pulse.
  [[nodiscard]] L3_FN static std::int32_t from_of(const slow_trace&, const found_pulses&,
                                                  std::uint32_t, std::int32_t level) {
    return level;
  }
  [[nodiscard]] L3_FN static std::int32_t from_of(const fast_trace&, const found_pulses& found,
                                                  std::uint32_t r, std::int32_t) {
    return found.pedestal[r] + found.foot[r];
  }

  template <block B>
  L3_FN static void write_signals(const B& b, const shared& s, const selection_tables& tables,
                                  std::uint32_t i, std::uint32_t number, board_kind kind,
                                  const board_signals::columns::view& signals) {
    for_each(b, 1, [&](std::uint32_t) {
      std::uint32_t lit = 0;
      for (std::uint32_t r = 0; r < packet_lanes; ++r) lit |= s.found.lit[r];
      std::uint32_t beyond = 0;
      if (tables.levels.size() != 0) {
        for (std::uint32_t r = 0; r < packet_lanes; ++r) {
          const std::uint32_t lane = record_of(r, kind); // this permutation is its own inverse
          const input_levels& levels =
              tables.levels[inputs_per_board * number + channel_of(r, kind)];
          beyond |= record_beyond(levels, r, s.measured.minimum[lane], s.measured.maximum[lane]);
        }
      }
      signals[i] = {static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(lit),
                    static_cast<std::uint16_t>(s.packet.header()[0] & l2::payload_mask),
                    static_cast<std::uint16_t>(beyond),
                    static_cast<std::uint16_t>(beyond >> packet_lanes)};
    });
  }

  /// Bit r if the record has a sample beyond the levels of its input, and bit 16 + r if its
  /// neighbours are kept for it. `minimum` and `maximum` include their tags.
  [[nodiscard]] L3_FN static std::uint32_t record_beyond(const input_levels& levels,
                                                         std::uint32_t r, std::uint32_t minimum,
                                                         std::uint32_t maximum) {
    const std::uint32_t lowest = minimum & l2::payload_mask;
    const std::uint32_t highest = maximum & l2::payload_mask;
    const bool is_loud = lowest < levels.low || highest > levels.high;
    return (is_loud ? 1U << r : 0U) | (highest >= levels.seed ? 1U << packet_lanes << r : 0U);
  }

  static const char* broken_pulse(const pulses::columns::value& pulse) {
    if ((pulse.flags & pulse_found) == 0) {
      return pulse.peak_sample != 0 || pulse.time != 0 || pulse.sum != 0
                 ? "a row without a pulse has a time or a sum"
                 : nullptr;
    }
    if (4 * pulse.peak < pulse.pedestal) return "a pulse is below its pedestal";
    if (pulse.time > 256 * pulse.peak_sample) return "a pulse has its edge after its peak";
    if ((pulse.flags & pulse_no_edge) != 0 && pulse.time != 0)
      return "a pulse has a time but no edge";
    return nullptr;
  }
};

} // namespace l3

#if defined(__CUDACC__)
#include "selection/algorithms/measure_pulses.cuh" // included here so that no device source can leave it out
#endif
