// SPDX-License-Identifier: Apache-2.0
// Reads a detector from TOML.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "selection/detector.hpp"
#include "selection/toml_section.hpp"

namespace l3 {
namespace {

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

input_address address(const section& s, std::string_view key, std::size_t parts) {
  const auto at = parse_address(s.text(key), parts);
  if (!at) s.refuse(key, parts == 3 ? "must be \"crate/slot/channel\"" : "must be \"crate/slot\"");
  return *at;
}

void add_calorimeter(detector& d, const section& s) {
  s.allow({"first", "front", "small_size", "small_columns", "small_hole_columns",
           "small_tile_columns", "small_counts_per_mev", "large_size", "large_radius",
           "large_counts_per_mev", "accidental_rate", "hole_distance", "hole_accidental_factor"});
  constexpr std::uint32_t most_columns = 1000;
  calorimeter_rules rules;
  rules.small_size = s.positive("small_size");
  rules.columns = static_cast<int>(s.count("small_columns", 1, most_columns));
  rules.hole_columns = static_cast<int>(s.count("small_hole_columns", 0, most_columns));
  rules.tile_columns = static_cast<int>(s.count("small_tile_columns", 1, most_columns));
  if (rules.columns % rules.tile_columns != 0)
    s.refuse("small_tile_columns", "must divide small_columns");
  rules.large_size = s.positive("large_size");
  rules.large_radius = s.positive("large_radius");
  if (rules.large_radius > most_columns * rules.large_size)
    s.refuse("large_radius", "is too many crystals");

  const auto places = calorimeter_places(rules);
  const auto inputs = d.run_of_inputs(address(s, "first", 3), places.size(), s.place("first"));
  const double near = s.number("hole_distance");
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& p = places[i];
    crystal c;
    c.x = p.x;
    c.y = p.y;
    c.size = p.size;
    const bool small = p.size == rules.small_size;
    c.counts_per_mev = s.positive(small ? "small_counts_per_mev" : "large_counts_per_mev");
    c.accidental_rate = s.number("accidental_rate");
    if (std::max(std::abs(p.x), std::abs(p.y)) < near)
      c.accidental_rate *= s.number("hole_accidental_factor");
    c.at = inputs[i];
    d.add_crystal(c, s.place("first"));
  }
  d.set_front(s.number("front"));
}

void add_veto(detector& d, const section& s) {
  s.allow({"name", "modules", "ends", "length", "first", "threshold", "window", "counts_per_unit",
           "unit_per_mev", "accidental_rate", "barrel", "wall"});
  veto v;
  v.name = s.text("name");
  if (v.name.find_first_of("\"\\\n\t") != std::string::npos)
    s.refuse("name", "must be plain: it stands in files and messages");
  v.modules = s.count("modules", 1, d.input_count());
  v.ends = s.count("ends", 1, 2, 1);
  v.length = s.number("length", 0);
  v.threshold = s.number("threshold");
  const auto window = s.range("window");
  v.window_from = window[0];
  v.window_to = window[1];
  v.counts_per_unit = s.positive("counts_per_unit");
  v.unit_per_mev = s.positive("unit_per_mev", 1);
  v.accidental_rate = s.number("accidental_rate", 0);
  if (s.has("barrel") && s.has("wall")) s.refuse("wall", "and barrel exclude each other");
  if (s.has("barrel")) {
    const auto b = s.numbers<3>("barrel");
    v.shape = {veto_shape::kind::barrel, b[0], b[0], b[1], b[2]};
  } else if (s.has("wall")) {
    const auto w = s.numbers<3>("wall");
    v.shape = {veto_shape::kind::wall, w[0], w[1], w[2], w[2]};
  }
  v.inputs =
      d.run_of_inputs(address(s, "first", 3), std::size_t{v.modules} * v.ends, s.place("first"));
  const auto place = s.place("first");
  d.add_veto(std::move(v), place);
}

void add_signals(detector& d, const section& s) {
  s.allow({"noise_typical", "noise_range", "pedestal_range", "time_offset", "pulse_time",
           "attenuation_length", "light_speed", "seed"});
  const auto noise = s.range("noise_range");
  const auto pedestal = s.range("pedestal_range");
  if (pedestal[0] < 0 || pedestal[1] > l2::payload_mask)
    s.refuse("pedestal_range", "must lie within 0 to " + std::to_string(l2::payload_mask));
  constexpr double most_noise = 100; // counts: more would not fit the noise table's scale
  if (noise[0] < 0 || noise[1] > most_noise) s.refuse("noise_range", "must lie within 0 to 100");
  const double typical = s.number("noise_typical");
  if (typical < noise[0] || typical > noise[1])
    s.refuse("noise_typical", "must lie in noise_range");
  constexpr std::uint32_t any = 0x7fffffff;
  d.set_signals({typical, noise[0], noise[1], pedestal[0], pedestal[1], s.number("time_offset"),
                 s.number("pulse_time"), s.positive("attenuation_length"),
                 s.positive("light_speed"), s.count("seed", 0, any)});
}

} // namespace

detector parse_detector(std::string_view text, std::string_view name) {
  const auto root = parse_toml(text, name);
  const section whole(root, "detector", name);
  whole.allow({"dead", "calorimeter", "trigger", "signals", "veto"});

  detector d(readout::koto());
  add_calorimeter(d, whole.inner("calorimeter"));
  add_signals(d, whole.inner("signals"));
  const auto trigger = whole.inner("trigger");
  trigger.allow({"board"});
  d.set_trigger_board(address(trigger, "board", 2), trigger.place("board"));

  whole.for_each_table("veto", [&d](const section& s) { add_veto(d, s); });
  if (const auto* dead = root.get_as<toml::array>("dead"))
    for (const auto& entry : *dead) {
      const auto at = parse_address(entry.value<std::string>().value_or(""), 3);
      if (!at) whole.refuse("dead", "must be a list of \"crate/slot/channel\"");
      d.kill(*at, whole.place(entry));
    }
  return d;
}

detector read_detector(const std::filesystem::path& file) {
  return parse_detector(read_text(file), file.string());
}

} // namespace l3
