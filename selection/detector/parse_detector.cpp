// SPDX-License-Identifier: Apache-2.0
// Reads a detector from TOML.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "config/toml/table.hpp"
#include "selection/detector/detector.hpp"
#include "selection/detector/pulse_reach.hpp"

namespace l3 {
namespace {

constexpr double most_place = 3200;      // mm off the axis: 16 bits hold no more
constexpr double most_distance = 1e5;    // mm along it: a hundred metres
constexpr double most_rate = 1e9;        // per second: two in each sample at 500 MHz
constexpr double least_scale = 0.1;      // counts per unit: as the greatest gain of a calibration
constexpr double most_threshold = 1e6;   // MeV, photoelectrons
constexpr double most_factor = 1000;     // of what is multiplied
constexpr double attenuation_reach = 10; // attenuation lengths: 16 bits hold no more

/// `parts` numbers with slashes between them.
std::optional<input_address> parse_address(std::string_view text, std::size_t parts) {
  std::array<std::uint8_t, 3> n{};
  const char* p = text.data();
  const char* end = p + text.size();
  for (std::size_t i = 0; i < parts; ++i) {
    if (i > 0 && (p == end || *p++ != '/')) return std::nullopt;
    const auto r = std::from_chars(p, end, n[i]);
    if (r.ec != std::errc{}) return std::nullopt;
    p = r.ptr;
  }
  if (p != end) return std::nullopt;
  return input_address{n[0], n[1], n[2]};
}

input_address address(const toml_table& s, std::string_view key, std::size_t parts) {
  const auto text = s.text(key).value;
  const auto at = parse_address(text, parts);
  if (!at && !text.empty())
    s.complain(key, parts == 3 ? "is not \"crate/slot/channel\"" : "is not \"crate/slot\"");
  return at.value_or(input_address{});
}

void add_calorimeter(detector& d, const toml_table& s) {
  s.allow({"first", "front", "small_size", "small_columns", "small_hole_columns",
           "small_tile_columns", "small_counts_per_mev", "large_size", "large_radius",
           "large_counts_per_mev", "accidental_rate", "hole_distance", "hole_accidental_factor"},
          {});
  constexpr std::uint32_t most_columns = 1000;
  const auto first = address(s, "first", 3);
  calorimeter_rules rules;
  rules.small_size = s.number("small_size", 1, most_place);
  rules.columns = static_cast<int>(s.count("small_columns", 1, most_columns));
  rules.hole_columns = static_cast<int>(s.count("small_hole_columns", 0, most_columns));
  rules.tile_columns = static_cast<int>(s.count("small_tile_columns", 1, most_columns));
  rules.large_size = s.number("large_size", 1, most_place);
  rules.large_radius = s.number("large_radius", 1, most_place);
  const double near = s.number("hole_distance", 0, most_place);
  const double small_scale = s.number("small_counts_per_mev", least_scale, l2::payload_mask);
  const double large_scale = s.number("large_counts_per_mev", least_scale, l2::payload_mask);
  const double rate = s.number("accidental_rate", 0, most_rate);
  const double hole_factor = s.number("hole_accidental_factor", 0, most_factor);
  d.set_front(s.number("front", -most_distance, most_distance));
  if (s.wrong().any()) return;

  if (rules.columns % rules.tile_columns != 0)
    return s.complain("small_tile_columns", "does not divide small_columns");
  if (rules.large_radius > most_columns * rules.large_size)
    return s.complain("large_radius", "is too many crystals");
  const auto places = calorimeter_places(rules);
  s.wrong().hear(s.place("first"), [&] {
    const auto inputs = d.run_of_inputs(first, places.size());
    if (!inputs.empty() && d.kind_of(first) != board_kind::sampling_125_mhz)
      return s.complain("first",
                        "is at 500 MHz, where no crystal is looked for; choose a crate at 125 MHz");
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& p = places[i];
      const bool at_hole = std::max(std::abs(p.x), std::abs(p.y)) < near;
      d.add_crystal({p.x, p.y, p.size, p.size == rules.small_size ? small_scale : large_scale,
                     at_hole ? rate * hole_factor : rate, inputs[i]});
    }
  });
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

void add_veto(detector& d, const toml_table& s) {
  s.allow({"name", "modules", "first", "threshold", "window", "counts_per_unit"},
          {"ends", "length", "neighbours", "within", "unit_per_mev", "accidental_rate", "barrel",
           "wall", "t0", "charged"});
  veto v;
  v.name = s.text("name");
  if (v.name.find_first_of("\"\\\n\t") != std::string::npos)
    s.complain("name", "is not plain: it stands in files and messages");
  for (const auto& other : d.vetoes())
    if (other.name == v.name)
      s.complain("name", "stands there already; give each veto one of its own");
  v.modules = s.count("modules", 1, d.input_count());
  v.ends = s.count("ends", 1, 2, 1U);
  v.length = s.number("length", 0, most_distance);
  v.t0 = s.number("t0", -waveform_length, waveform_length);
  v.charged = s.number("charged", 0, most_threshold);
  v.threshold = s.positive("threshold", most_threshold);
  v.neighbours = s.count("neighbours", 1, std::max(v.modules, 1U), 1U);
  v.within = s.number("within", 0, waveform_length);
  v.counts_per_unit = s.number("counts_per_unit", least_scale, l2::payload_mask);
  v.unit_per_mev = s.positive("unit_per_mev", most_factor, 1.0);
  v.accidental_rate = s.number("accidental_rate", 0, most_rate);
  v.shape = shape_of(s);
  const auto window = read_window(s, "window"); // offline's; level 3 takes its own from it
  v.window_from = window[0];
  v.window_to = window[1];
  const auto first = address(s, "first", 3);
  if (s.wrong().any()) return;

  if ((v.neighbours > 1) != s.has("within"))
    s.complain("within", "and neighbours belong together; write both, such as neighbours = 3, "
                         "within = 10.0, or neither");
  if (v.length / 2 > attenuation_reach * d.signals().attenuation_length)
    s.complain("length",
               "is more than 20 times signals.attenuation_length; correct one of the two");
  s.wrong().hear(s.place("first"), [&] {
    v.inputs = d.run_of_inputs(first, std::size_t{v.modules} * v.ends);
    const auto reach = reach_of(d.kind_of(first), d.signals().pulse_time);
    if (!reach.meets(v.window_from, v.window_to)) s.complain("window", reach.missed());
    d.add_veto(std::move(v));
  });
}

void add_signals(detector& d, const toml_table& s) {
  s.allow({"noise_typical", "noise_range", "pedestal_range", "time_offset", "pulse_time",
           "attenuation_length", "light_speed", "seed"},
          {});
  constexpr double most_pedestal = 2048; // half of what an input at 500 MHz can give
  constexpr double most_noise = 100;     // counts: more would not fit the noise table's scale
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

} // namespace

detector parse_detector(std::string_view text, const std::string& name, readout crates) {
  const auto root = parse_toml(text, name);
  complaints wrong;
  const toml_table whole(root, name, wrong);
  whole.allow({"calorimeter", "signals", "trigger"}, {"dead", "veto"});

  detector d(std::move(crates));
  whole.inner("signals", [&](const toml_table& s) { add_signals(d, s); });
  whole.inner("calorimeter", [&](const toml_table& s) { add_calorimeter(d, s); });
  whole.inner("trigger", [&](const toml_table& s) {
    s.allow({"board"}, {});
    const auto board = address(s, "board", 2);
    if (!wrong.any()) wrong.hear(s.place("board"), [&] { d.set_trigger_board(board); });
  });
  whole.for_each_table("veto", [&](const toml_table& s) { add_veto(d, s); });
  for (const auto& input : whole.texts("dead")) {
    const auto at = parse_address(input.value, 3);
    if (!at) wrong.add(input.place, "dead = {} is not \"crate/slot/channel\"", quote(input.value));
    if (at && !wrong.any()) wrong.hear(input.place, [&] { d.kill(*at); });
  }
  wrong.raise();
  return d;
}

detector read_detector(const std::filesystem::path& file, readout crates) {
  return parse_detector(read_text(file), file.string(), std::move(crates));
}

} // namespace l3
