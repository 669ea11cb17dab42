// SPDX-License-Identifier: Apache-2.0
#include "reading/pulses.hpp"

#include <algorithm>
#include <array>

#include "gpu/codec/decode_all.hpp"
#include "gpu/columns/collection.hpp"
#include "gpu/executors/solo.hpp"
#include "selection/algorithms/measure_pulses.hpp"
#include "transport/building/fragment_index.hpp"
#include "transport/store/koto_record.hpp"

namespace l3::reading {

namespace {

constexpr std::array<std::byte, 2> empty_sample{std::byte{l2::sample_tag >> 8}, std::byte{0}};

/// The columns that measure_pulses needs for the boards of a crate; no other kernel reads them.
struct crate_columns {
  host_columns<pulses::columns> rows{l2::max_boards * l2::waveforms_per_board};
  host_columns<board_signals::columns> signals{l2::max_boards};
  host_columns<record_columns> records{l2::max_boards * l2::waveforms_per_board};
  host_columns<board_columns> boards{l2::max_boards};
};

} // namespace

void clear_pulses(const pulse_target& to, std::size_t rows, l3_read_state state) {
  std::ranges::fill(to.state, static_cast<std::uint8_t>(state));
  const pulse_fields<value> nothing{0, 0, 0, 0, 0, 0, undefined_quantity, undefined_quantity};
  for (std::size_t row = 0; row < rows; ++row)
    write_row<pulse_fields>(to.columns, to.first_row + row, nothing);
}

bool pulse_measurer::measure(const packed_event_view& event, const pulse_target& to) {
  std::ranges::copy(plan_.initial_states(), to.state.begin());
  bool whole = true;
  for (std::uint32_t i = 0; i < event.fragments(); ++i) {
    const packed_fragment f = event.fragment(i);
    if (!plan_.wants(f.crate)) continue;
    const bool good =
        f.form == fragment_form::raw || rebuild_fragment(event, i, fragment_, strong::decode_all);
    whole = whole && good;
    if (!good || f.form == fragment_form::raw) {
      for (std::uint32_t slot = l2::first_slot; slot <= l2::last_slot; ++slot)
        if (const auto* const board = plan_.of(f.crate, slot))
          for (const auto& c : board->channels)
            to.state[c.column] = good ? L3_READ_UNDECODABLE : L3_READ_DAMAGED;
      continue;
    }
    fill_absent_words(event, i, fragment_, [](std::uint32_t) { return empty_sample.data(); });
    measure_fragment(event, i, to);
  }
  return whole;
}

/// The fragment's original bytes are in fragment_.
void pulse_measurer::measure_fragment(const packed_event_view& event, std::uint32_t index,
                                      const pulse_target& to) {
  const packed_fragment f = event.fragment(index);
  const auto& crates = selection_.what.crates();
  std::array<board_entry, l2::max_boards> boards;
  const piece_offset whole = 0;
  const auto bytes = static_cast<std::uint32_t>(fragment_.size());
  const std::uint32_t piece = (bytes + 3) / 4 * 4;
  const fragment_index found = index_fragment({fragment_.data(), &whole, piece, bytes},
                                              crates.crates[f.crate], event.key(), boards);
  const auto kept = kept_records(event, index);
  if (found.problem || kept.size() != found.boards) return;

  const event_entry entry{.spill = event.key().spill,
                          .number = event.key().number,
                          .fragments = 1,
                          .boards = found.boards,
                          .reference_time = event.header().reference_time};
  const fragment_entry fragment{
      .piece_bytes = piece, .bytes = bytes, .boards = found.boards, .crate = f.crate};
  static thread_local crate_columns columns;
  selection_frame frame;
  frame.batch = {
      fragment_.data(), {&entry, 1}, {&fragment, 1}, {&whole, 1}, {boards.data(), found.boards}};
  frame.tables = selection_.tables.view();
  frame.packing.records = columns.records.view();
  frame.packing.boards = columns.boards.view();
  run_solo<measure_pulses, selection_frame, pulses::columns::view, board_signals::columns::view>(
      {}, 0, found.boards, frame, columns.rows.view(), columns.signals.view());

  auto [at, board] = event.start_of(index);
  for (std::uint32_t j = 0; j < found.boards; ++j) {
    const packed_board form = event.board(board++);
    const auto data = event.bytes().subspan(at, form.bytes);
    at += form.bytes;
    const auto* const wanted = plan_.of(f.crate, form.slot);
    if (wanted == nullptr) continue;
    const std::uint16_t number = columns.signals[j].number;
    std::array<packed_pulse, l2::waveforms_per_board> rows{};
    std::uint32_t present = kept[j];
    if ((form.form & board_features) != 0) {
      auto stored = data.subspan(bytes_before_samples(form));
      present = load<std::uint16_t>(stored.data());
      stored = stored.subspan(board_mask_bytes);
      for (std::uint32_t r = 0; r < rows.size(); ++r) {
        if ((present >> r & 1) == 0) continue;
        rows[r] = load<packed_pulse>(stored.data());
        stored = stored.subspan(sizeof(packed_pulse));
      }
    } else {
      for (std::uint32_t r = 0; r < rows.size(); ++r) {
        const auto p = columns.rows.const_view()[l2::waveforms_per_board * j + r];
        rows[r] = {p.pedestal, p.peak, p.time, p.peak_sample, p.flags, p.sum};
      }
    }
    const bool unread = number == board_signals::unread;
    for (const auto& c : wanted->channels)
      write_channel(c, unread ? 0 : l2::waveforms_per_board * number, rows,
                    unread ? (boards[j].opaque != 0 ? L3_READ_OPAQUE : L3_READ_UNDECODABLE)
                           : L3_READ_PRESENT,
                    present, to);
  }
}

/// `present`: bit r: the record of row r is kept, or the row is stored.
void pulse_measurer::write_channel(const channel_plan::chosen& c, std::uint32_t first_input,
                                   std::span<const packed_pulse> rows, l3_read_state state,
                                   std::uint32_t present, const pulse_target& to) {
  const std::uint32_t per_channel = plan_.length() / l2::waveform_samples;
  const std::uint32_t first = c.channel * per_channel;
  const std::uint32_t mask = ((1U << per_channel) - 1) << first;
  if (state == L3_READ_PRESENT && (present & mask) == 0) state = L3_READ_NOT_KEPT;
  to.state[c.column] = static_cast<std::uint8_t>(state);
  if (state != L3_READ_PRESENT) return;
  const input_entry& input = selection_.tables.inputs[first_input + c.channel];
  for (std::uint32_t j = 0; j < per_channel; ++j) {
    const packed_pulse& p = rows[first + j];
    const bool measured = (p.flags & pulse_found) != 0 && input.kind != input_kind::none;
    write_row<pulse_fields>(to.columns, to.first_row + std::size_t{c.column} * per_channel + j,
                            {p.pedestal, p.peak, p.peak_sample, p.flags, p.time, p.sum,
                             measured ? input.energy_of(p.sum) : undefined_quantity,
                             measured ? input.time_of(p.time) : undefined_quantity});
  }
}

} // namespace l3::reading
