// SPDX-License-Identifier: Apache-2.0
// Reads a detector from TOML.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "config/toml/section.hpp"
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
  rules.small_size = s.number_within("small_size", 1, most_place);
  rules.columns = static_cast<int>(s.count("small_columns", 1, most_columns));
  rules.hole_columns = static_cast<int>(s.count("small_hole_columns", 0, most_columns));
  rules.tile_columns = static_cast<int>(s.count("small_tile_columns", 1, most_columns));
  if (rules.columns % rules.tile_columns != 0)
    s.refuse("small_tile_columns", "must divide small_columns");
  rules.large_size = s.number_within("large_size", 1, most_place);
  rules.large_radius = s.number_within("large_radius", 1, most_place);
  if (rules.large_radius > most_columns * rules.large_size)
    s.refuse("large_radius", "is too many crystals");

  const auto places = calorimeter_places(rules);
  const auto inputs = d.run_of_inputs(address(s, "first", 3), places.size(), s.place("first"));
  if (!inputs.empty() && d.kind_of(inputs.front()) != board_kind::sampling_125_mhz)
    s.refuse("first", "is at 500 MHz, where no crystal is looked for; choose a crate at 125 MHz");
  const double near = s.number_within("hole_distance", 0, most_place);
  const double small_scale = s.number_within("small_counts_per_mev", least_scale, l2::payload_mask);
  const double large_scale = s.number_within("large_counts_per_mev", least_scale, l2::payload_mask);
  const double rate = s.number_within("accidental_rate", 0, most_rate);
  const double hole_factor = s.number_within("hole_accidental_factor", 0, most_factor);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& p = places[i];
    crystal c;
    c.x = p.x;
    c.y = p.y;
    c.size = p.size;
    c.counts_per_mev = p.size == rules.small_size ? small_scale : large_scale;
    c.accidental_rate = std::max(std::abs(p.x), std::abs(p.y)) < near ? rate * hole_factor : rate;
    c.at = inputs[i];
    d.add_crystal(c, s.place("first"));
  }
  d.set_front(s.number_within("front", -most_distance, most_distance));
}

veto_shape shape_of(const section& s) {
  if (s.has("barrel") && s.has("wall")) s.refuse("wall", "and barrel exclude each other");
  const std::string_view key = s.has("barrel") ? "barrel" : "wall";
  if (!s.has(key)) return {};
  const auto n = s.numbers<3>(key);
  for (const double length : n)
    if (!(std::abs(length) <= most_distance)) s.refuse(key, "must stay within 100000 mm");
  if (key == "barrel") return {veto_shape::kind::barrel, n[0], n[0], n[1], n[2]};
  return {veto_shape::kind::wall, n[0], n[1], n[2], n[2]};
}

/// Offline's window; level 3 takes its own from it.
void read_window(const detector& d, const section& s, veto& v) {
  const auto window = s.range("window");
  v.window_from = window[0];
  v.window_to = window[1];
  if (!(v.window_from < v.window_to))
    s.refuse("window", "must rise; write [from, to] in ns, such as [-15.0, 15.0]");
  if (v.window_from < -waveform_length || v.window_to > waveform_length)
    s.refuse("window", "reaches beyond the waveform; stay within -512 to 512 ns");
  const auto reach = reach_of(d.kind_of(v.inputs.front()), d.signals().pulse_time);
  if (!reach.meets(v.window_from, v.window_to))
    s.refuse("window", "holds no pulse: they are sought from " + in_words(reach.from) + " to " +
                           in_words(reach.to) + " ns; choose a window that overlaps that");
}

void add_veto(detector& d, const section& s) {
  s.allow({"name", "modules", "ends", "length", "first", "threshold", "window", "neighbours",
           "within", "counts_per_unit", "unit_per_mev", "accidental_rate", "barrel", "wall"});
  veto v;
  v.name = s.text("name");
  if (v.name.find_first_of("\"\\\n\t") != std::string::npos)
    s.refuse("name", "must be plain: it stands in files and messages");
  for (const auto& other : d.vetoes())
    if (other.name == v.name)
      s.refuse("name", "stands there already: \"" + v.name + "\"; give each veto one of its own");
  v.modules = s.count("modules", 1, d.input_count());
  v.ends = s.count("ends", 1, 2, 1);
  v.length = s.number_within("length", 0, most_distance, 0);
  if (v.length / 2 > attenuation_reach * d.signals().attenuation_length)
    s.refuse("length", "is more than 20 times signals.attenuation_length; correct one of the two");
  v.threshold = s.positive("threshold");
  if (v.threshold > most_threshold) s.refuse("threshold", "must not be above 1000000");
  v.neighbours = s.count("neighbours", 1, v.modules, 1);
  v.within = s.number_within("within", 0, waveform_length, 0);
  if ((v.neighbours > 1) != s.has("within"))
    s.refuse("within", "and neighbours belong together; write both, such as neighbours = 3, "
                       "within = 10.0, or neither");
  v.counts_per_unit = s.number_within("counts_per_unit", least_scale, l2::payload_mask);
  v.unit_per_mev = s.positive("unit_per_mev", 1);
  if (v.unit_per_mev > most_factor) s.refuse("unit_per_mev", "must not be above 1000");
  v.accidental_rate = s.number_within("accidental_rate", 0, most_rate, 0);
  v.shape = shape_of(s);
  v.inputs =
      d.run_of_inputs(address(s, "first", 3), std::size_t{v.modules} * v.ends, s.place("first"));
  read_window(d, s, v);
  const auto place = s.place("first");
  d.add_veto(std::move(v), place);
}

void add_signals(detector& d, const section& s) {
  s.allow({"noise_typical", "noise_range", "pedestal_range", "time_offset", "pulse_time",
           "attenuation_length", "light_speed", "seed"});
  const auto noise = s.range("noise_range");
  const auto pedestal = s.range("pedestal_range");
  constexpr double most_pedestal = 2048; // half of what an input at 500 MHz can give
  if (pedestal[0] < 0 || pedestal[1] > most_pedestal)
    s.refuse("pedestal_range", "must lie within 0 to 2048");
  constexpr double most_noise = 100; // counts: more would not fit the noise table's scale
  if (noise[0] < 0 || noise[1] > most_noise) s.refuse("noise_range", "must lie within 0 to 100");
  const double typical = s.number("noise_typical");
  if (typical < noise[0] || typical > noise[1])
    s.refuse("noise_typical", "must lie in noise_range");
  constexpr std::uint32_t any = 0x7fffffff;
  constexpr double most_offset = 100;   // ns
  constexpr double vacuum = 299.792458; // mm/ns
  d.set_signals({typical, noise[0], noise[1], pedestal[0], pedestal[1],
                 s.number_within("time_offset", 0, most_offset),
                 s.number_within("pulse_time", 0, waveform_length),
                 s.number_within("attenuation_length", 1, most_distance),
                 s.number_within("light_speed", 1, vacuum), s.count("seed", 0, any)});
}

} // namespace

detector parse_detector(std::string_view text, std::string_view name, readout crates) {
  const auto root = parse_toml(text, name);
  const section whole(root, "detector", name);
  whole.allow({"dead", "calorimeter", "trigger", "signals", "veto"});

  detector d(std::move(crates));
  add_calorimeter(d, whole.inner("calorimeter"));
  add_signals(d, whole.inner("signals"));
  const auto trigger = whole.inner("trigger");
  trigger.allow({"board"});
  d.set_trigger_board(address(trigger, "board", 2), trigger.place("board"));

  whole.for_each_table("veto", [&d](const section& s) { add_veto(d, s); });
  if (whole.has("dead")) {
    const auto no_list = [&] { whole.refuse("dead", "must be a list of \"crate/slot/channel\""); };
    const auto* dead = whole.find("dead")->as_array();
    if (dead == nullptr) no_list();
    for (const auto& entry : *dead) {
      const auto at = parse_address(entry.value<std::string>().value_or(""), 3);
      if (!at) no_list();
      d.kill(*at, whole.place(entry));
    }
  }
  return d;
}

detector read_detector(const std::filesystem::path& file, readout crates) {
  return parse_detector(read_text(file), file.string(), std::move(crates));
}

} // namespace l3
