// SPDX-License-Identifier: Apache-2.0
// keep_waveforms: one block per kept event decides which of its waveforms are kept. Each line has a
// payload, and takes some of its events as a control sample with everything. An event of several
// lines gets the largest payload that one of them asks for. In a suppressed event, the kernel keeps
// waveforms that are loud (input_levels), that have a lit pulse, or that have a neighbour with a
// high sample. It changes form and length of the event's boards before they are placed.
//
// A board that cannot be decoded, or that is not in the readout, is always kept
// unchanged.
#pragma once

#include <cstdint>

#include "selection/packing/limited_board.hpp"
#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"

namespace l3 {

struct keep_waveforms {
  static constexpr std::string_view name = "keep_waveforms";
  static constexpr blocks_for run_for = blocks_for::event;
  using reads = slot_list<pulses, board_signals>;
  using updates = slot_list<summaries>;
  using writes = slot_list<>;

  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t max_boards = 1024; ///< in the readout

  struct shared {
    event_payload payload;
    std::uint16_t seeds[max_boards]; ///< by board of the readout; bit c: channel c
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const selection_frame& f,
                        const pulses::columns::const_view&,
                        const board_signals::columns::const_view& signals,
                        const summaries::columns::view& out) const {
    const std::uint32_t e = b.index();
    if (f.packing.events.accepted[e] == 0) return;
    const event_entry event = f.batch.events[e];
    for_each(b, 1, [&](std::uint32_t) { s.payload = choose(f, event, out.all[e]); });
    b.sync();
    const event_payload payload = s.payload;
    if (payload == event_payload::all) return;
    if (payload == event_payload::suppressed) {
      find_seeds(b, s, f, event, signals);
      b.sync();
    }
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t i = event.first_board + k;
      const std::uint32_t number = signals.number[i];
      if (number == board_signals::unread) return; // raw, or unknown
      std::uint32_t records = 0;
      if (payload == event_payload::suppressed)
        records = loud_records(s, f.tables, f.batch.boards[i].kind, number,
                               std::uint32_t{signals.loud[i]} | signals.lit[i]);
      limit(f.packing, i, records, payload == event_payload::features, signals.lit[i]);
    });
  }

  static const char* broken_promise(const selection_frame& f, const pulses::columns::const_view&,
                                    const board_signals::columns::const_view& signals,
                                    const summaries::columns::const_view& out) {
    for (std::uint32_t e = 0; e < f.batch.events.size(); ++e) {
      const event_summary& s = out.all[e];
      if (((s.asked | s.control) & ~s.kept_by) != 0)
        return "a line asks for waveforms of an event that it does not keep";
      const event_entry& event = f.batch.events[e];
      for (std::uint32_t k = 0; k < event.boards; ++k) {
        const std::uint32_t i = event.first_board + k;
        const std::uint32_t form = f.packing.boards.form[i];
        if ((form & board_limited) == 0) continue;
        if (s.payload == event_payload::all)
          return "waveforms of an event that keeps all are left out";
        if ((form & board_raw) != 0 || signals.number[i] == board_signals::unread)
          return "a board that was not read is limited";
        if (s.payload == event_payload::suppressed &&
            (signals.lit[i] & ~f.packing.boards.records[i]) != 0)
          return "a waveform with a lit pulse is left out";
      }
    }
    return nullptr;
  }

private:
  static constexpr std::uint32_t inputs_per_board = l2::waveforms_per_board;

  /// The payload of an event, with the lines that asked for it. An event that no line kept keeps
  /// all its waveforms.
  [[nodiscard]] L3_FN static event_payload choose(const selection_frame& f,
                                                  const event_entry& event, event_summary& out) {
    auto most = event_payload::summary;
    std::uint32_t control = 0;
    for (std::uint32_t n = 0; n < out.lines; ++n) {
      if ((out.kept_by >> n & 1) == 0) continue;
      const line_entry& line = f.tables.lines[n];
      if (line.payload < most) most = line.payload;
      if (is_control(f.tables.constants.run, event.spill, event.number, line.id, line.control))
        control |= 1U << n;
    }
    if (control != 0 || out.kept_by == 0) most = event_payload::all;
    out.payload = most;
    out.control = control;
    out.asked = 0;
    for (std::uint32_t n = 0; n < out.lines; ++n)
      if ((out.kept_by >> n & 1) != 0 && f.tables.lines[n].payload == most) out.asked |= 1U << n;
    return most;
  }

  template <block B>
  L3_FN static void find_seeds(const B& b, shared& s, const selection_frame& f,
                               const event_entry& event,
                               const board_signals::columns::const_view& signals) {
    for_each(b, boards_of(f.tables), [&](std::uint32_t n) { s.seeds[n] = 0; });
    b.sync();
    for_each(b, event.boards, [&](std::uint32_t k) {
      const std::uint32_t i = event.first_board + k;
      const std::uint32_t number = signals.number[i];
      if (number == board_signals::unread) return;
      const std::uint32_t records = signals.seeds[i];
      std::uint32_t channels = records;
      if (f.batch.boards[i].kind == board_kind::sampling_500_mhz) {
        channels = 0;
        for (std::uint32_t c = 0; c < fast_channels; ++c)
          if ((records & records_of_fast(c)) != 0) channels |= 1U << c;
      }
      s.seeds[number] = static_cast<std::uint16_t>(channels);
    });
  }

  /// The kept records of a board, always whole waveforms.
  [[nodiscard]] L3_FN static std::uint32_t loud_records(const shared& s,
                                                        const selection_tables& tables,
                                                        board_kind kind, std::uint32_t number,
                                                        std::uint32_t loud) {
    const bool is_slow = kind == board_kind::sampling_125_mhz;
    std::uint32_t kept = 0;
    for (std::uint32_t c = 0; c < (is_slow ? inputs_per_board : fast_channels); ++c) {
      const std::uint32_t records = is_slow ? 1U << c : records_of_fast(c);
      if ((loud & records) != 0 || is_beside_seed(s, tables, inputs_per_board * number + c))
        kept |= records;
    }
    return kept;
  }

  [[nodiscard]] L3_FN static bool is_beside_seed(const shared& s, const selection_tables& tables,
                                                 std::uint32_t input) {
    for (std::uint32_t k = tables.levels[input].first_neighbour;
         k < tables.levels[input + 1].first_neighbour; ++k) {
      const std::uint32_t other = tables.kept_with[k];
      if ((s.seeds[other / inputs_per_board] >> other % inputs_per_board & 1) != 0) return true;
    }
    return false;
  }

  L3_FN static void limit(const frame_columns& packing, std::uint32_t i, std::uint32_t records,
                          bool features, std::uint32_t rows) {
    if (records == all_records) return;
    board_shape shape{packing.boards.form[i], packing.boards.bytes[i]};
    shape = limited_shape(shape, records, packing.records, packet_lanes * i);
    if (features) {
      shape.form |= board_features;
      shape.bytes += features_bytes(rows);
    }
    measure_boards::write_shape(i, shape, packing);
    packing.boards.records[i] = static_cast<std::uint16_t>(records);
    packing.boards.rows[i] = static_cast<std::uint16_t>(rows);
  }

  static constexpr std::uint32_t fast_channels = 4;
  [[nodiscard]] L3_FN static constexpr std::uint32_t records_of_fast(std::uint32_t channel) {
    return 0xfU << 4 * channel;
  }
  [[nodiscard]] L3_FN static std::uint32_t boards_of(const selection_tables& tables) {
    return tables.inputs.size() / inputs_per_board;
  }
};

} // namespace l3
