// SPDX-License-Identifier: Apache-2.0
// The pulses of one board on the host, for people and readers of stored events: the same code as
// measure_pulses, bit for bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "gpu/executors/solo.hpp"
#include "selection/algorithms/measure_pulses.hpp"

namespace l3 {

/// `samples`: 1024 without tags, record by record. `inputs`: the 16 of the board. Row r is row r of
/// the slot `pulses`; a row without a high enough pulse has no flag pulse_found.
inline std::array<packed_pulse, packet_lanes>
pulses_of_board(std::span<const std::uint16_t> samples, board_kind kind,
                const input_entry* inputs) {
  std::array<std::uint16_t, packet_lanes * packet_rows> words;
  measure_pulses::shared s{};
  for (std::uint32_t lane = 0; lane < packet_lanes; ++lane) {
    const auto record =
        samples.subspan(std::size_t{record_of(lane, kind)} * packet_rows, packet_rows);
    const auto [low, high] = std::ranges::minmax(record);
    s.measured.minimum[lane] = low;
    s.measured.bits[lane] = high - low;
    for (std::uint32_t row = 0; row < packet_rows; ++row)
      words[packet_lanes * row + lane] = record[row];
  }
  const solo_block b(0);
  const bool slow = kind == board_kind::sampling_125_mhz;
  if (slow)
    find_slow_pulses::find(b, words.data(), s.measured, inputs, s.slow, s.found);
  else
    find_fast_pulses::find(b, words.data(), s.measured, inputs, s.fast, s.found);
  std::array<packed_pulse, packet_lanes> rows;
  for (std::uint32_t r = 0; r < packet_lanes; ++r) {
    packed_pulse& row = rows[r];
    row.pedestal = s.found.pedestal[r];
    row.peak = s.found.peak[r];
    row.peak_sample = static_cast<std::uint8_t>(s.found.peak_sample[r]);
    row.flags = static_cast<std::uint8_t>(s.found.flags[r]);
    if ((row.flags & pulse_found) == 0) continue;
    const std::uint32_t c = measure_pulses::channel_of(r, kind);
    const std::uint32_t least = inputs[c].least_height;
    if (slow)
      measure_pulses::measure(slow_trace{words.data(), c}, s.found, r, least, row);
    else
      measure_pulses::measure(fast_trace{words.data(), c}, s.found, r, least, row);
  }
  return rows;
}

} // namespace l3
