// SPDX-License-Identifier: Apache-2.0
// Reads a detector from TOML.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "config/toml/table.hpp"
#include "selection/detector/cable_map.hpp"
#include "selection/detector/detector.hpp"
#include "selection/detector/pulse_reach.hpp"

namespace l3 {
namespace {

constexpr double most_place = 3200;      // mm off the axis: the limit of 16 bits
constexpr double most_distance = 1e5;    // mm along it: a hundred metres
constexpr double most_rate = 1e9;        // per second: two per sample at 500 MHz
constexpr double least_scale = 0.1;      // counts per unit: the greatest gain of a calibration
constexpr double most_threshold = 1e6;   // MeV, photoelectrons
constexpr double most_factor = 1000;     // limit of factors
constexpr double attenuation_reach = 10; // attenuation lengths: the limit of 16 bits

input_address address(const toml_table& s, std::string_view key, std::size_t parts) {
  const auto text = s.text(key).value;
  const auto at = parse_input(text, parts);
  if (!at && !text.empty())
    s.complain(key, parts == 3 ? "is not \"crate/slot/channel\"" : "is not \"crate/slot\"");
  return at.value_or(input_address{});
}

/// The common properties of the calorimeter's crystals.
struct crystal_figures {
  double small_size = 0;
  double large_size = 0;
  double small_scale = 0;
  double large_scale = 0;
  double rate = 0;
  double near = 0; ///< distance from the axis with more accidental pulses
  double hole_factor = 0;

  [[nodiscard]] crystal at(double x, double y, double size, input_address input) const {
    const bool at_hole = std::max(std::abs(x), std::abs(y)) < near;
    return {x,
            y,
            size,
            size == small_size ? small_scale : large_scale,
            at_hole ? rate * hole_factor : rate,
            input};
  }
};

/// The crystals' places by rules; empty if a rule is wrong.
std::vector<crystal_place> places_by_rules(const toml_table& s, const crystal_figures& all) {
  constexpr std::uint32_t most_columns = 1000;
  calorimeter_rules rules;
  rules.small_size = all.small_size;
  rules.large_size = all.large_size;
  rules.columns = static_cast<int>(s.count("small_columns", 1, most_columns));
  rules.hole_columns = static_cast<int>(s.count("small_hole_columns", 0, most_columns));
  rules.tile_columns = static_cast<int>(s.count("small_tile_columns", 1, most_columns));
  rules.large_radius = s.number("large_radius", 1, most_place);
  if (s.wrong().any()) return {};
  if (rules.columns % rules.tile_columns != 0)
    s.complain("small_tile_columns", "does not divide small_columns");
  if (rules.large_radius > most_columns * rules.large_size)
    s.complain("large_radius", "is too many crystals");
  return s.wrong().any() ? std::vector<crystal_place>{} : calorimeter_places(rules);
}

/// Adds crystals by rules, on consecutive inputs.
void add_crystals_in_order(detector& d, const toml_table& s, const crystal_figures& all) {
  const auto first = address(s, "first", 3);
  const auto places = places_by_rules(s, all);
  if (s.wrong().any()) return;
  s.wrong().hear(s.place("first"), [&] {
    const auto inputs = d.run_of_inputs(first, places.size());
    if (!inputs.empty() && d.kind_of(first) != board_kind::sampling_125_mhz)
      return s.complain("first",
                        "is at 500 MHz, but crystals need 125 MHz; choose a crate at 125 MHz");
    for (std::size_t i = 0; i < places.size(); ++i)
      d.add_crystal(all.at(places[i].x, places[i].y, places[i].size, inputs[i]));
  });
}

/// Adds the crystals of a map. Their number must be given, because a truncated map has fewer.
void add_crystals_of(const cable_map& map, detector& d, const toml_table& s,
                     const crystal_figures& all) {
  const auto count = s.has("crystals") ? s.count("crystals", 1, d.input_count()).value
                                       : static_cast<std::uint32_t>(places_by_rules(s, all).size());
  if (s.wrong().any()) return;
  const auto crystals = map.crystals(count, s.wrong());
  for (const cable& c : crystals) {
    if (c.size != all.small_size && c.size != all.large_size)
      s.wrong().add(c.place,
                    "crystal {} has the size {:g}, which is neither small_size {:g} nor large_size "
                    "{:g}; correct one of them",
                    c.module, c.size, all.small_size, all.large_size);
    else if (d.kind_of(c.at) != board_kind::sampling_125_mhz)
      s.wrong().add(c.place,
                    "crystal {} is on input {}, at 500 MHz, but crystals need 125 MHz; move it to "
                    "a crate at 125 MHz",
                    c.module, to_string(c.at));
    else
      s.wrong().hear(c.place, [&] { d.add_crystal(all.at(c.x, c.y, c.size, c.at)); });
  }
}

void add_calorimeter(detector& d, const toml_table& s, const cable_map* map) {
  std::vector<std::string_view> always = {"front",
                                          "small_size",
                                          "small_counts_per_mev",
                                          "large_size",
                                          "large_counts_per_mev",
                                          "accidental_rate",
                                          "hole_distance",
                                          "hole_accidental_factor"};
  const std::vector<std::string_view> rules = {"small_columns", "small_hole_columns",
                                               "small_tile_columns", "large_radius"};
  std::vector<std::string_view> optional;
  // A description may keep its rules beside a map, which has priority; but it must give the number
  // of crystals.
  const auto has_rule = std::ranges::any_of(rules, [&](std::string_view r) { return s.has(r); });
  if (map != nullptr && s.has("crystals")) {
    optional = rules;
    optional.emplace_back("first");
    always.emplace_back("crystals");
  } else if (map != nullptr && !has_rule) {
    return s.wrong().add(s.place("front"), "the calorimeter does not say how many crystals the "
                                           "cable map must have; write crystals = 2716");
  } else {
    always.insert(always.end(), rules.begin(), rules.end());
    (map != nullptr ? optional : always).emplace_back("first");
  }
  s.allow(always, optional);
  crystal_figures all;
  all.small_size = s.number("small_size", 1, most_place);
  all.large_size = s.number("large_size", 1, most_place);
  all.near = s.number("hole_distance", 0, most_place);
  all.small_scale = s.number("small_counts_per_mev", least_scale, l2::payload_mask);
  all.large_scale = s.number("large_counts_per_mev", least_scale, l2::payload_mask);
  all.rate = s.number("accidental_rate", 0, most_rate);
  all.hole_factor = s.number("hole_accidental_factor", 0, most_factor);
  d.set_front(s.number("front", -most_distance, most_distance));
  if (map == nullptr) return add_crystals_in_order(d, s, all);
  if (!s.wrong().any()) add_crystals_of(*map, d, s, all);
}

veto_shape shape_of(const toml_table& s) {
  if (s.has("barrel") && s.has("wall")) s.complain("wall", "and barrel exclude each other");
  const std::string_view key = s.has("barrel") ? "barrel" : "wall";
  const auto n = s.numbers(key, 3);
  if (n.empty()) return {};
  for (const double length : n)
    if (!(std::abs(length) <= most_distance)) s.complain(key, "must stay within 100000 mm");
  if (key == "barrel") return {veto_shape::kind::barrel, n[0], n[0], n[1], n[2]};
  return {veto_shape::kind::wall, n[0], n[1], n[2], n[2]};
}

/// The counter's inputs, consecutive or from the map; empty if one is wrong.
std::vector<input_address> inputs_of(const veto& v, const detector& d, const toml_table& s,
                                     const cable_map* map) {
  if (map == nullptr)
    return d.run_of_inputs(address(s, "first", 3), std::size_t{v.modules} * v.ends);
  auto inputs = map->inputs_of(v.name, v.modules, v.ends, s.wrong());
  if (s.wrong().any()) return {};
  for (const input_address at : inputs)
    if (d.kind_of(at) != d.kind_of(inputs.front()))
      throw std::runtime_error(fmt::format(
          "{} has inputs at 125 and at 500 MHz, {} and {}: a counter has one kind of boards; "
          "correct the map, or describe two counters",
          v.name, to_string(inputs.front()), to_string(at)));
  return inputs;
}

void add_veto(detector& d, const toml_table& s, const cable_map* map) {
  std::vector<std::string_view> needed = {"name", "modules", "threshold", "window",
                                          "counts_per_unit"};
  std::vector<std::string_view> optional = {
      "ends",   "length", "neighbours", "within", "unit_per_mev", "accidental_rate",
      "barrel", "wall",   "t0",         "delay",  "charged",      "passes"};
  (map == nullptr ? needed : optional).emplace_back("first");
  s.allow(needed, optional);
  veto v;
  v.name = s.text("name");
  if (v.name.find_first_of("\"\\\n\t") != std::string::npos)
    s.complain("name", "may hold only plain characters: it is used in files and messages");
  for (const auto& other : d.vetoes())
    if (other.name == v.name) s.complain("name", "is already used; give each veto its own");
  if (v.name == calorimeter_name)
    s.complain("name", "is reserved for the calorimeter in cable maps; choose another");
  v.modules = s.count("modules", 1, d.input_count());
  v.ends = s.count("ends", 1, 2, 1U);
  v.length = s.number("length", 0, most_distance);
  v.t0 = s.number("t0", -waveform_length, waveform_length);
  v.delay = s.number("delay", -waveform_length, waveform_length);
  v.charged = s.number("charged", 0, most_threshold);
  v.passes = s.number("passes", 0, 1);
  v.threshold = s.positive("threshold", most_threshold);
  v.neighbours = s.count("neighbours", 1, std::max(v.modules, 1U), 1U);
  v.within = s.number("within", 0, waveform_length);
  v.counts_per_unit = s.number("counts_per_unit", least_scale, l2::payload_mask);
  v.unit_per_mev = s.positive("unit_per_mev", most_factor, 1.0);
  v.accidental_rate = s.number("accidental_rate", 0, most_rate);
  v.shape = shape_of(s);
  const auto window = read_window(s, "window"); // offline's; level 3 derives its own from it
  v.window_from = window[0];
  v.window_to = window[1];
  if (s.wrong().any()) return;

  if ((v.neighbours > 1) != s.has("within"))
    s.complain("within", "and neighbours must be set together; write both, such as neighbours = 3, "
                         "within = 10.0, or neither");
  if (v.length / 2 > attenuation_reach * d.signals().attenuation_length)
    s.complain("length",
               "is more than 20 times signals.attenuation_length; correct one of the two");
  s.wrong().hear(s.place(s.has("first") ? "first" : "name"), [&] {
    v.inputs = inputs_of(v, d, s, map);
    if (v.inputs.empty()) return;
    const auto reach =
        reach_of(d.kind_of(v.inputs.front()), d.signals().pulse_time + v.t0 + v.delay);
    if (!reach.meets(v.window_from, v.window_to)) s.complain("window", reach.missed());
    d.add_veto(std::move(v));
  });
}

void add_signals(detector& d, const toml_table& s) {
  s.allow({"noise_typical", "noise_range", "pedestal_range", "time_offset", "pulse_time",
           "attenuation_length", "light_speed", "seed"},
          {});
  constexpr double most_pedestal = 2048; // half of a 500 MHz input's range
  constexpr double most_noise = 100;     // counts: the limit of the noise table's scale
  constexpr double most_offset = 100;    // ns
  constexpr double vacuum = 299.792458;  // mm/ns
  constexpr std::uint32_t any = 0x7fffffff;
  const auto noise = s.range("noise_range", 0, most_noise);
  const auto pedestal = s.range("pedestal_range", 0, most_pedestal);
  const auto typical = s.number("noise_typical", 0, most_noise, noise[0]);
  if (typical < noise[0] || typical > noise[1])
    s.complain("noise_typical", "does not lie in noise_range");
  d.set_signals({typical, noise[0], noise[1], pedestal[0], pedestal[1],
                 s.number("time_offset", 0, most_offset),
                 s.number("pulse_time", 0, waveform_length),
                 s.number("attenuation_length", 1, most_distance),
                 s.number("light_speed", 1, vacuum), s.count("seed", 0, any).value});
}

/// Separates a description from its cable map in a combined text: the rest is the map of this name.
constexpr std::string_view map_mark = "\n#!cables ";

/// The name and the text of the map; no name if the text has none.
struct map_text {
  std::string_view description;
  std::optional<std::string> name;
  std::string_view table;
};

map_text split(std::string_view text) {
  const auto at = text.find(map_mark);
  if (at == std::string_view::npos) return {text, std::nullopt, {}};
  const std::string_view rest = text.substr(at + map_mark.size());
  const auto end = std::min(rest.find('\n'), rest.size());
  return {text.substr(0, at + 1), std::string(rest.substr(0, end)),
          rest.substr(std::min(end + 1, rest.size()))};
}

} // namespace

detector parse_detector(std::string_view text, const std::string& name, readout crates) {
  const map_text parts = split(text);
  const auto root = parse_toml(parts.description, name);
  complaints wrong;
  const toml_table whole(root, name, wrong);
  whole.allow({"calorimeter", "signals", "trigger"}, {"dead", "veto", "cables"});
  if (whole.has("cables") && !parts.name)
    whole.complain("cables",
                   "is a file beside the description, but the description was read alone");

  detector d(std::move(crates));
  std::optional<cable_map> cables;
  complaints wrong_cables; // their places are in another file
  if (parts.name) cables = cable_map::parse(parts.table, *parts.name, d, wrong_cables);
  wrong_cables.raise();
  const cable_map* const map = cables ? &*cables : nullptr;
  whole.inner("signals", [&](const toml_table& s) { add_signals(d, s); });
  whole.inner("calorimeter", [&](const toml_table& s) { add_calorimeter(d, s, map); });
  whole.inner("trigger", [&](const toml_table& s) {
    s.allow({"board"}, {});
    const auto board = address(s, "board", 2);
    if (!wrong.any()) wrong.hear(s.place("board"), [&] { d.set_trigger_board(board); });
  });
  std::vector<setting<std::string>> names;
  whole.for_each_table("veto", [&](const toml_table& s) {
    if (s.has("name")) names.push_back(s.text("name"));
    add_veto(d, s, map);
  });
  if (map != nullptr) {
    std::vector<std::string_view> known;
    for (const auto& one : names) known.push_back(one.value);
    map->check_names(known, wrong);
  }
  for (const auto& input : whole.texts("dead")) {
    const auto at = parse_input(input.value);
    if (!at) wrong.add(input.place, "dead = {} is not \"crate/slot/channel\"", quote(input.value));
    if (at && !wrong.any()) wrong.hear(input.place, [&] { d.kill(*at); });
  }
  wrong.raise();
  return d;
}

std::string detector_text(const std::filesystem::path& file) {
  std::string text = read_text(file);
  if (split(text).name) return text; // already combined
  const std::string name = file.string();
  const auto root = parse_toml(text, name);
  complaints wrong;
  const toml_table whole(root, name, wrong);
  if (!whole.has("cables")) return text;
  const auto cables = whole.text("cables");
  wrong.raise();
  const auto table = file.parent_path() / cables.value;
  wrong.hear(cables.place, [&] {
    const std::string rows = read_text(table);
    text += std::string(map_mark) + table.string() + "\n" + rows;
  });
  wrong.raise();
  return text;
}

detector read_detector(const std::filesystem::path& file, readout crates) {
  return parse_detector(detector_text(file), file.string(), std::move(crates));
}

} // namespace l3
