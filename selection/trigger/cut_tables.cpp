// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/cut_tables.hpp"

#include <algorithm>
#include <limits>

#include "config/toml/complaints.hpp"
#include "selection/detector/pulse_form.hpp"
#include "selection/detector/pulse_reach.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/quantity_units.hpp"
#include "selection/trigger/table_units.hpp"

namespace l3 {
namespace {

using table_units::whole;

class cut_maker {
public:
  cut_maker(const detector& d, const selection_settings& s) : d_(d), s_(s) {}

  cut_tables make() {
    make_constants();
    make_vetoes();
    for (const auto& line : s_.lines) make_line(line);
    for (const auto& name : s_.suppression.exempt) check_inputs_of(name);
    wrong_.raise();
    return std::move(t_);
  }

private:
  void make_constants() {
    auto& k = t_.constants;
    k.crystal_threshold = whole(s_.clusters.crystal_threshold * table_units::energy);
    k.event_from = whole(s_.clusters.event_window.from * table_units::time);
    k.event_to = whole(s_.clusters.event_window.to * table_units::time);
    k.crystal_from = whole(s_.clusters.crystal_window.from * table_units::time);
    k.crystal_to = whole(s_.clusters.crystal_window.to * table_units::time);
    k.photon_threshold = whole(s_.photons.threshold * table_units::energy);
    k.photon_from = whole(s_.photons.window.from * table_units::time);
    k.photon_to = whole(s_.photons.window.to * table_units::time);
    k.photon_scale = whole(s_.photons.energy_scale * table_units::factor);
    for (const auto& [energy, lacking] : s_.photons.energy_correction)
      k.correction[k.correction_points++] = {whole(energy * table_units::energy),
                                             whole(lacking * table_units::energy)};
    k.front = whole(d_.front() * table_units::length);
    k.trigger_board =
        static_cast<std::uint16_t>(d_.number_of(d_.trigger_board()) / detector::inputs_per_board);
    k.vetoes = static_cast<std::uint16_t>(d_.vetoes().size());
    k.lines = static_cast<std::uint16_t>(s_.lines.size());
    k.overfull_lines = static_cast<std::uint16_t>(std::count_if(
        s_.lines.begin(), s_.lines.end(), [](const line_settings& l) { return l.overfull; }));

    double highest = std::numeric_limits<double>::infinity();
    for (const auto& c : d_.crystals())
      highest = std::min(highest, highest_pulse(c.at) / c.counts_per_mev);
    check_threshold(s_.clusters.crystal_threshold, highest, "a crystal");
    check_calorimeter();
  }

  void check_calorimeter() {
    const auto& all = d_.crystals();
    if (all.empty()) return;
    check_window(s_.clusters.event_window, all.front().at, "clusters.event_window");
    check_window(s_.clusters.crystal_window, all.front().at, "clusters.crystal_window");
    check_window(s_.photons.window, all.front().at, "photons.window");
  }

  /// `later`: delay in ns of in-time pulses after the trigger's time.
  void check_window(const time_window& window, input_address at, std::string_view whose,
                    double later = 0) {
    const auto reach = reach_of(d_.kind_of(at), d_.signals().pulse_time + later);
    if (!reach.meets(window.from, window.to))
      wrong_.add(window.place, "{} {}", whose, reach.missed());
  }

  /// Counts above the pedestal.
  [[nodiscard]] double highest_pulse(input_address at) const {
    return highest_sample(d_.kind_of(at)) - d_.signals().pedestal_max;
  }

  void check_threshold(const setting<double>& threshold, double highest, std::string_view whose) {
    if (threshold >= highest)
      wrong_.add(threshold.place,

                 "the threshold of {}, {:g}, is above the digitizer's range, {:g}; lower it", whose,
                 threshold.value, highest);
  }

  void make_vetoes() {
    for (const auto& c : s_.counters) static_cast<void>(bit_of(c.name));
    std::uint32_t module = 0;
    for (const auto& v : d_.vetoes()) {
      const auto at =
          std::find_if(s_.counters.begin(), s_.counters.end(),
                       [&v](const counter_settings& c) { return c.name.value == v.name; });
      auto& entry =
          t_.vetoes.emplace_back(make_veto(v, at == s_.counters.end() ? counter_settings{} : *at));
      entry.first_module = static_cast<std::uint16_t>(module);
      module += v.modules;
    }
  }

  veto_entry make_veto(const veto& v, const counter_settings& c) {
    const auto& all = s_.vetoes;
    const auto threshold = c.threshold.value_or(
        setting<double>(v.threshold * all.threshold_factor, all.threshold_factor.place));
    check_threshold(threshold, v.ends * highest_pulse(v.inputs.front()) / v.counts_per_unit,
                    v.name);
    const double margin = all.window_margin;
    const auto window = c.window.value_or(
        time_window{{v.window_from + margin, v.window_to - margin}, all.window_margin.place});
    if (!(window.from < window.to))
      wrong_.add(all.window_margin.place,
                 "the margin leaves nothing of the window of {}; lower it, or give the "
                 "counter a window of its own",
                 v.name);
    check_window(window, v.inputs.front(), "the window of " + v.name, v.t0 + v.delay);
    const std::uint32_t neighbours = c.neighbours ? c.neighbours->value : v.neighbours;
    if (c.neighbours && neighbours > v.modules)
      wrong_.add(c.neighbours->place,
                 "so many neighbours cannot have a hit: {} has {} modules; lower it", v.name,
                 v.modules);

    veto_entry e;
    e.threshold = whole(threshold * table_units::energy);
    e.from = whole(window.from * table_units::time);
    e.to = whole(window.to * table_units::time);
    e.modules = static_cast<std::uint16_t>(v.modules);
    e.neighbours = static_cast<std::uint16_t>(neighbours);
    e.within = whole((c.neighbours ? c.within : v.within) * table_units::time);
    if (v.ends == 2) add_ends(e, v, c);
    return e;
  }

  void add_ends(veto_entry& e, const veto& v, const counter_settings& c) const {
    const double speed = d_.signals().light_speed;
    const bool long_module = v.length > 0;
    const double apart =
        long_module ? v.length / speed + s_.vetoes.tolerance_margin : s_.vetoes.tolerance;
    e.tolerance = whole(c.tolerance.value_or(apart) * table_units::time);
    e.half_length = whole(v.length / 2);
    // z = speed · (t of end 0 − t of end 1) / 2: docs/selection.md.
    if (long_module) e.z_of_time = whole(speed / 2 / table_units::time * table_units::factor);
  }

  void make_line(const line_settings& line) {
    line_entry e;
    e.id = line_id(line.name.value);
    for (std::size_t other = 0; other < t_.lines.size(); ++other)
      if (t_.lines[other].id == e.id)
        wrong_.add(
            line.name.place,

            "{} and {} would have the same number in the stream; change one of the two names",
            quote(line.name.value), quote(s_.lines[other].name.value));
    e.prescale = line.prescale;
    e.trigger_any = line.trigger_any;
    e.trigger_none = line.trigger_none;
    e.priority = line.priority;
    e.undecodable = line.undecodable ? 1 : 0;
    e.overfull = line.overfull ? 1 : 0;
    e.unknown = line.when_unknown;
    e.payload = line.payload.value;
    e.control = line.control;
    for (const auto& name : line.fired) e.vetoes_on |= bit_of(name);
    for (const auto& name : line.vetoes) e.vetoes_off |= bit_of(name);
    if (line.all_vetoes) e.vetoes_off = ((1U << d_.vetoes().size()) - 1) & ~e.vetoes_on;
    for (const auto& r : line.ranges) {
      const double steps = unit_of(r.what).steps;
      e.range[e.ranges++] = {table_units::whole_from(r.range.from * steps),
                             table_units::whole_to(r.range.to * steps), r.what};
    }
    t_.lines.push_back(e);
  }

  /// The counter's bit; 0, with a complaint, if there is no such counter.
  std::uint32_t bit_of(const setting<std::string>& name) {
    for (std::size_t i = 0; i < d_.vetoes().size(); ++i)
      if (d_.vetoes()[i].name == name.value) return 1U << i;
    refuse(name, {});
    return 0;
  }

  /// Reports a name that is neither a counter's nor the calorimeter's.
  void check_inputs_of(const setting<std::string>& name) {
    const bool is_there =
        name.value == calorimeter_inputs ||
        std::ranges::any_of(d_.vetoes(), [&](const auto& v) { return v.name == name.value; });
    if (!is_there) refuse(name, {calorimeter_inputs});
  }

  void refuse(const setting<std::string>& name, std::vector<std::string_view> names) {
    for (const auto& v : d_.vetoes()) names.push_back(v.name);
    wrong_.add(name.place, "the detector has no counter {}; {}", quote(name.value),
               suggest(name.value, names));
  }

  const detector& d_;
  const selection_settings& s_;
  cut_tables t_;
  complaints wrong_;
};

} // namespace

cut_tables make_cut_tables(const detector& d, const selection_settings& settings) {
  return cut_maker(d, settings).make();
}

} // namespace l3
