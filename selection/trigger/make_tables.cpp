// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/make_tables.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "selection/algorithms/find_clusters.hpp"
#include "selection/algorithms/keep_waveforms.hpp"
#include "selection/detector/arithmetic.hpp"
#include "selection/detector/pulse_form.hpp"
#include "selection/detector/pulse_response.hpp"
#include "selection/trigger/cut_tables.hpp"
#include "selection/trigger/table_units.hpp"

namespace l3 {
namespace {

using table_units::whole;

std::vector<board_kind> kinds_of_boards(const detector& d) {
  std::vector<board_kind> kinds;
  for (const auto& crate : d.crates().crates) kinds.insert(kinds.end(), crate.boards, crate.kind);
  return kinds;
}

void add_boards(host_tables& t, const detector& d) {
  t.first_board.push_back(0);
  for (const auto& crate : d.crates().crates)
    t.first_board.push_back(static_cast<std::uint16_t>(t.first_board.back() + crate.boards));
  t.board_vetoes.resize(d.crates().boards());
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    const auto& e = d.at(n);
    auto& board = t.board_vetoes[n / detector::inputs_per_board];
    if (e.what == element::kind::crystal) board |= calorimeter_unknown;
    if (e.what == element::kind::veto) board |= 1U << e.index;
  }
  t.board_vetoes[t.constants.trigger_board] |= trigger_unknown;
}

void add_crystals(host_tables& t, const detector& d, const cluster_settings& cuts) {
  std::vector<crystal_entry> places;
  for (const auto& c : d.crystals())
    places.push_back({static_cast<std::int16_t>(whole(c.x * table_units::length)),
                      static_cast<std::int16_t>(whole(c.y * table_units::length)), 0});
  auto table =
      find_neighbours(std::move(places), whole(cuts.neighbour_distance * table_units::length));
  t.crystals = std::move(table.crystals);
  t.neighbours = std::move(table.neighbours);
}

void add_modules(host_tables& t, const detector& d, const calibration& c) {
  for (std::size_t i = 0; i < d.vetoes().size(); ++i) {
    const auto& v = d.vetoes()[i];
    const bool dead = std::all_of(v.inputs.begin(), v.inputs.end(),
                                  [&](input_address at) { return c[d.number_of(at)].dead; });
    if (dead) t.constants.dead_vetoes |= 1U << i;
    for (std::uint32_t m = 0; m < v.modules; ++m) {
      module_entry e;
      e.veto = static_cast<std::uint8_t>(i);
      e.ends = static_cast<std::uint8_t>(v.ends);
      e.alive = 0;
      for (std::uint32_t end = 0; end < v.ends; ++end)
        if (!c[d.number_of(v.inputs[m * v.ends + end])].dead)
          e.alive = static_cast<std::uint8_t>(e.alive | 1U << end);
      t.modules.push_back(e);
    }
  }
}

/// The least energy of a pulse, MeV or photoelectrons: half of what its input needs for a crystal
/// or a hit to count, because sums are not exact, and because each of two ends sees half of the
/// energy.
double least_energy(const host_tables& t, const element& e, std::uint32_t ends) {
  const bool crystal = e.what == element::kind::crystal;
  const double threshold = crystal ? t.constants.crystal_threshold : t.vetoes[e.index].threshold;
  return threshold / table_units::energy / 2 / ends;
}

void add_inputs(host_tables& t, const detector& d, const calibration& calibrated) {
  const auto kinds = kinds_of_boards(d);
  const auto slow = response_of(board_kind::sampling_125_mhz);
  const auto fast = response_of(board_kind::sampling_500_mhz);
  t.inputs.resize(d.input_count());
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    const auto& e = d.at(n);
    const auto& c = calibrated[n];
    auto& input = t.inputs[n];
    const auto kind = kinds[n / detector::inputs_per_board];
    const bool is_slow = kind == board_kind::sampling_125_mhz;
    input.time_shift = is_slow ? 2 : 0;
    if (e.what == element::kind::none || c.dead) continue;

    const auto& response = is_slow ? slow : fast;
    const double energy_of_step = c.gain * table_units::energy / response.sum / table_units::sum;
    input.gain = whole(energy_of_step * (1U << input_entry::gain_shift));
    input.time = whole((d.signals().pulse_time + c.time - response.lead) * table_units::time);
    const bool crystal = e.what == element::kind::crystal;
    const auto ends = crystal ? 1 : d.vetoes()[e.index].ends;
    const auto height = static_cast<std::uint32_t>(
        std::min<double>(std::floor(least_energy(t, e, ends) / c.gain), highest_sample(kind)));
    input.least_height = static_cast<std::uint16_t>(std::max(height, c.least_height));
    input.kind = crystal ? input_kind::crystal : input_kind::veto;
    input.index = static_cast<std::uint16_t>(
        crystal ? e.index : 2U * (t.vetoes[e.index].first_module + e.module) + e.end);
  }
}

/// Up to the end of the longest module, in the middle of each step.
void add_attenuation(host_tables& t, const detector& d) {
  std::int32_t longest = 0;
  for (const auto& v : t.vetoes) longest = std::max(longest, v.half_length);
  for (std::int32_t z = 0; z <= longest; z += attenuation_step) {
    const double left = exp_of_minus((z + attenuation_step / 2.0) / d.signals().attenuation_length);
    t.attenuation.push_back({static_cast<std::uint32_t>(whole(table_units::factor / left)),
                             static_cast<std::uint32_t>(whole(table_units::factor * left))});
  }
}

/// Only for lines that limit the payload: without one, no table mentions it. If every event is
/// recorded, no line limits anything, because the lines are still to be judged.
void add_payloads(host_tables& t, const detector& d, const calibration& c,
                  const selection_settings& settings) {
  if (t.constants.record != 0) {
    for (line_entry& line : t.lines) {
      line.payload = event_payload::all;
      line.control = 0;
    }
  }
  const auto asks_for = [&t](auto&& what) {
    return std::any_of(t.lines.begin(), t.lines.end(), what);
  };
  if (!asks_for([](const line_entry& l) { return l.payload != event_payload::all; })) return;
  for (const line_entry& line : t.lines) {
    packed_line_payload& p = t.packed_payloads.emplace_back();
    p.payload = line.payload;
    p.control = line.control;
  }
  if (!asks_for([](const line_entry& l) { return l.payload == event_payload::suppressed; })) return;
  auto table = make_level_tables(d, c, settings);
  t.levels = std::move(table.levels);
  t.kept_with = std::move(table.kept_with);
  t.constants.levels = table.hash;
}

} // namespace

selection_tables host_tables::view() const {
  const auto column_of = []<class T>(const std::vector<T>& v) {
    return column<const T>(v.data(), static_cast<std::uint32_t>(v.size()));
  };
  return {constants,          column_of(first_board),  column_of(board_vetoes),
          column_of(inputs),  column_of(crystals),     column_of(neighbours),
          column_of(modules), column_of(vetoes),       column_of(attenuation),
          column_of(lines),   column_of(packed_lines), column_of(packed_payloads),
          column_of(levels),  column_of(kept_with)};
}

void check_fits(const detector& d, const calibration& c) {
  const auto no = [](const std::string& what) { throw std::runtime_error("the detector " + what); };
  if (d.crystals().empty() && d.vetoes().empty())
    no("has no channels; describe a calorimeter or vetoes");
  if (!d.exists(d.trigger_board())) no("has no trigger board; name one");
  if (d.crystals().size() > find_clusters::max_crystals)
    no(fmt::format("has {} crystals; there is room for {}", d.crystals().size(),
                   find_clusters::max_crystals));
  if (d.crates().boards() > keep_waveforms::max_boards)
    no(fmt::format("has {} boards; there is room for {}", d.crates().boards(),
                   keep_waveforms::max_boards));
  if (d.vetoes().size() > max_vetoes)
    no(fmt::format("has {} vetoes; there is room for {}", d.vetoes().size(), max_vetoes));
  constexpr double most_distance = 3200; // mm: the limit of 16 bits
  for (const auto& k : d.crystals())
    if (std::max(std::abs(k.x), std::abs(k.y)) > most_distance)
      no("has a crystal more than 3200 mm off its axis, on input " + to_string(k.at));
  for (const auto& k : d.crystals())
    if (d.kind_of(k.at) != board_kind::sampling_125_mhz)
      no("has a crystal on input " + to_string(k.at) +
         ", at 500 MHz, but crystals need 125 MHz; move it to a crate at 125 MHz");
  if (c.size() != d.input_count()) no("is not the one of this calibration");
}

host_tables make_tables(const detector& d, const calibration& c, const selection_settings& settings,
                        std::uint32_t run, selection_mode mode) {
  check_fits(d, c);
  auto cuts = make_cut_tables(d, settings);
  host_tables t;
  t.constants = cuts.constants;
  t.vetoes = std::move(cuts.vetoes);
  t.lines = std::move(cuts.lines);
  for (const line_entry& line : t.lines) t.packed_lines.push_back({line.id, line.prescale});
  add_boards(t, d);
  add_crystals(t, d, settings.clusters);
  add_modules(t, d, c);
  add_inputs(t, d, c);
  add_attenuation(t, d);
  t.constants.record = mode == selection_mode::record ? 1 : 0;
  add_payloads(t, d, c, settings);
  t.constants.settings = hash_of(t, settings);
  t.constants.run = run;
  return t;
}

} // namespace l3
