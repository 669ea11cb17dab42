// SPDX-License-Identifier: Apache-2.0
// The calorimeter in the tables of the algorithms, with gains of 1 or random gains and times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "selection/detector/detector.hpp"
#include "selection/trigger/cut_tables.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"

namespace l3::test {

inline constexpr double cluster_reach = 70; // mm

/// The 2240 small and 476 large crystals of KOTO, 16 on each board in their order, and four boards
/// of veto inputs behind them.
class made_calorimeter {
public:
  static constexpr std::uint32_t veto_boards = 4;

  made_calorimeter() {
    places_ = calorimeter_places({.small_size = 25,
                                  .columns = 48,
                                  .hole_columns = 8,
                                  .tile_columns = 4,
                                  .large_size = 50,
                                  .large_radius = 918});
    std::vector<crystal_entry> crystals;
    for (const crystal_place& p : places_) {
      crystals.push_back({static_cast<std::int16_t>(std::lround(10 * p.x)),
                          static_cast<std::int16_t>(std::lround(10 * p.y)), 0});
    }
    table_ = find_neighbours(crystals, static_cast<std::int32_t>(10 * cluster_reach));
    boards_ = (size() + l2::waveforms_per_board - 1) / l2::waveforms_per_board;
    inputs.resize((boards_ + veto_boards) * l2::waveforms_per_board);
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      inputs[i].time_shift = 2;
      inputs[i].gain = 1 << input_entry::gain_shift;
      inputs[i].index = static_cast<std::uint16_t>(i);
      if (i < size()) inputs[i].kind = input_kind::crystal;
      if (i >= boards_ * l2::waveforms_per_board) inputs[i].kind = input_kind::veto;
    }
    constants.crystal_threshold = 3000;
    constants.event_from = -500; // less than a crystal's window, so that most crystals are in time
    constants.event_to = 500;
    constants.crystal_from = -2000;
    constants.crystal_to = 2000;
  }

  /// Draws gains and times at random.
  void draw(randomness& r) {
    for (input_entry& input : inputs) {
      input.gain = static_cast<std::int32_t>((1U << 15) + below(r, 1U << 17));
      input.time = static_cast<std::int32_t>(below(r, 40000));
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
  [[nodiscard]] std::uint32_t boards() const { return boards_; }
  [[nodiscard]] const std::vector<crystal_place>& places() const { return places_; }
  [[nodiscard]] const neighbour_table& table() const { return table_; }

  /// The crystal at a place; size() if the place has none.
  [[nodiscard]] std::uint32_t at(double x, double y) const {
    const auto here = std::find_if(places_.begin(), places_.end(), [&](const crystal_place& p) {
      return std::abs(p.x - x) < p.size / 2 && std::abs(p.y - y) < p.size / 2;
    });
    return static_cast<std::uint32_t>(here - places_.begin());
  }
  /// The small crystal in a column and row of the grid; size() in the hole.
  [[nodiscard]] std::uint32_t small(std::uint32_t column, std::uint32_t row) const {
    return at(25.0 * column - 587.5, 25.0 * row - 587.5);
  }

  [[nodiscard]] selection_tables tables() const {
    const auto over = [](const auto& v) {
      return column(v.data(), static_cast<std::uint32_t>(v.size()));
    };
    selection_tables t;
    t.constants = constants;
    t.inputs = over(inputs);
    t.crystals = over(table_.crystals);
    t.neighbours = over(table_.neighbours);
    return t;
  }

  std::vector<input_entry> inputs;
  selection_constants constants;

private:
  std::vector<crystal_place> places_;
  neighbour_table table_;
  std::uint32_t boards_ = 0;
};

/// Lights a crystal with a gain of 1, in time.
inline void light(pulse_event& event, std::uint32_t crystal, std::int32_t energy,
                  std::uint16_t time = 0) {
  add_pulse(event, static_cast<std::uint16_t>(crystal / 16), crystal % 16, energy, time);
}

} // namespace l3::test
