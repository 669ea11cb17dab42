// SPDX-License-Identifier: Apache-2.0
#include "reading/pulses.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "selection/algorithms/pulses_of_board.hpp"
#include "transport/store/koto_record.hpp"

namespace l3::reading {

std::vector<channel_address> on_boards_of(std::span<const channel_address> channels,
                                          std::uint32_t length) {
  std::set<std::pair<std::uint8_t, std::uint8_t>> boards;
  for (const channel_address c : channels) boards.insert({c.crate, c.slot});
  std::vector<channel_address> all;
  const unsigned per_board = l2::sample_words / length;
  for (const auto& [crate, slot] : boards)
    for (std::uint8_t channel = 0; channel < per_board; ++channel)
      all.push_back({crate, slot, channel});
  return all;
}

void clear_pulses(const pulse_target& to, std::size_t rows, l3_read_state state) {
  std::ranges::fill(to.state, static_cast<std::uint8_t>(state));
  const pulse_fields<value> nothing{0, 0, 0, 0, 0, 0, undefined_quantity, undefined_quantity};
  for (std::size_t row = 0; row < rows; ++row)
    write_row<pulse_fields>(to.columns, to.first_row + row, nothing);
}

pulse_measurer::pulse_measurer(const loaded_selection& selection, const channel_plan& plan,
                               const channel_plan& boards)
    : selection_(selection), plan_(plan), boards_(boards),
      samples_(std::size_t{boards.columns()} * boards.length()), states_(boards.columns()),
      columns_(plan.columns(), channel_plan::none) {
  for (std::uint32_t place = 0; place < selection.what.crates().size(); ++place)
    for (std::uint32_t slot = l2::first_slot; slot <= l2::last_slot; ++slot)
      if (const auto* const chosen = plan.of(place, slot))
        for (const auto& c : chosen->channels)
          columns_[c.column] = boards.of(place, slot)->column + c.channel;
}

bool pulse_measurer::measure(const packed_event_view& event, std::span<const found_board> boards,
                             const pulse_target& to) {
  const bool whole = decode_event(event, boards, boards_, {samples_, states_});
  for (std::uint32_t c = 0; c < columns_.size(); ++c)
    to.state[c] =
        columns_[c] != channel_plan::none ? states_[columns_[c]] : plan_.initial_states()[c];
  for (const found_board& board : boards)
    if (board.form.slot != 0) measure_board(board, to);
  return whole;
}

/// The states of its channels are those of their samples.
void pulse_measurer::measure_board(const found_board& board, const pulse_target& to) {
  const auto& [place, form, data] = board;
  const channel_plan::board& chosen = *plan_.of(place, form.slot);
  const std::uint32_t per_channel = plan_.length() / l2::waveform_samples;
  const std::uint32_t number = selection_.tables.first_board[place] + form.slot - l2::first_slot;
  const input_entry* const inputs =
      &selection_.tables.inputs[std::size_t{l2::waveforms_per_board} * number];
  board_pulses rows{};
  if ((form.form & board_raw) != 0) {
    for (const auto& c : chosen.channels) // the trigger reads all of a board, or nothing
      if (to.state[c.column] == L3_READ_PRESENT) to.state[c.column] = L3_READ_UNDECODABLE;
    return;
  }
  const std::uint32_t first = columns_[chosen.channels[0].column] - chosen.channels[0].channel;
  if (states_[first] > L3_READ_NOT_KEPT) return; // all of the board are
  if ((form.form & board_features) != 0) {
    rows = stored_pulses(form, data);
    for (const auto& c : chosen.channels)
      for (std::uint32_t j = 0; j < per_channel; ++j)
        if (rows[c.channel * per_channel + j].flags != 0) to.state[c.column] = L3_READ_PRESENT;
  } else {
    const auto samples =
        std::span(samples_).subspan(std::size_t{first} * plan_.length(), l2::sample_words);
    rows = pulses_of_board(samples, selection_.what.crates().crates[place].kind, inputs);
  }
  for (const auto& c : chosen.channels) {
    if (to.state[c.column] != L3_READ_PRESENT) continue;
    const input_entry& input = inputs[c.channel];
    for (std::uint32_t j = 0; j < per_channel; ++j) {
      const packed_pulse& p = rows[c.channel * per_channel + j];
      const bool measured = (p.flags & pulse_found) != 0 && input.kind != input_kind::none;
      write_row<pulse_fields>(to.columns, to.first_row + std::size_t{c.column} * per_channel + j,
                              {p.pedestal, p.peak, p.peak_sample, p.flags, p.time, p.sum,
                               measured ? input.energy_of(p.sum) : undefined_quantity,
                               measured ? input.time_of(p.time) : undefined_quantity});
    }
  }
}

} // namespace l3::reading
