// SPDX-License-Identifier: Apache-2.0
// Reads the selection's settings from TOML.
#include "selection/trigger/settings_file.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "config/toml/section.hpp"
#include "selection/detector/pulse_reach.hpp"
#include "selection/trigger/line_checks.hpp"
#include "selection/trigger/quantity_units.hpp"
#include "selection/trigger/table_units.hpp"
#include "selection/trigger/trigger_names.hpp"

namespace l3 {
namespace {

constexpr double most_energy = 2e6;    // MeV: 32 bits hold no more keV
constexpr double most_distance = 1000; // mm
constexpr std::uint32_t most_prescale = 1'000'000'000;

time_window window_of(const section& s, std::string_view key, const time_window& missing) {
  if (!s.has(key)) return missing;
  const auto w = s.numbers<2>(key);
  if (!(w[0] < w[1])) s.refuse(key, "must rise; write [from, to] in ns, such as [-15.0, 15.0]");
  if (w[0] < -waveform_length || w[1] > waveform_length)
    s.refuse(key, "reaches beyond the waveform; stay within -512 to 512 ns");
  return {{w[0], w[1]}, s.place(key)};
}

/// A list of texts and where each stands.
std::vector<setting<std::string>> names_of(const section& s, std::string_view key) {
  std::vector<setting<std::string>> names;
  const auto* node = s.find(key);
  if (node == nullptr) return names;
  const auto* list = node->as_array();
  if (list == nullptr) s.refuse(key, "must be a list of names, such as [\"CBAR\", \"NCC single\"]");
  for (const auto& entry : *list) {
    const auto name = entry.value<std::string>();
    if (!name || name->empty()) s.refuse(key, "must be a list of names, each in quotes");
    names.emplace_back(*name, s.place(entry));
  }
  return names;
}

std::uint16_t triggers_of(const section& s, std::string_view key) {
  std::uint16_t bits = 0;
  complaints wrong;
  for (const auto& name : names_of(s, key)) {
    const auto* known =
        std::find_if(trigger_names.begin(), trigger_names.end(),
                     [&name](const trigger_name& t) { return t.name == name.value; });
    if (known != trigger_names.end()) {
      bits = static_cast<std::uint16_t>(bits | known->bit);
      continue;
    }
    std::string names;
    for (const auto& t : trigger_names) names += (names.empty() ? "" : ", ") + std::string(t.name);
    wrong.add(name.place + ": no trigger bit is called \"" + name.value + "\"; there are " + names);
  }
  wrong.raise();
  return bits;
}

/// [from, to], or a number for both.
range_settings range_of(const section& s, quantity q) {
  const auto key = name_of(q);
  range_settings r{q, {}, s.place(key)};
  if (s.find(key)->is_number()) {
    r.range.from = r.range.to = s.number(key);
  } else {
    const auto ends = s.numbers<2>(key);
    r.range = {ends[0], ends[1]};
  }
  if (!(r.range.from <= r.range.to))
    s.refuse(key, "can never be met: it must rise; write [from, to], inf for an open end");
  const auto unit = unit_of(q);
  if (r.range.to < unit.least || r.range.from > unit.most)
    s.refuse(key, "can never be met: the quantity lies within " + in_words(unit.least) + " to " +
                      in_words(unit.most) + "; choose a range that overlaps it");
  constexpr double most = 0x7fffffff; // steps
  if (r.range.from * unit.steps > most || r.range.to * unit.steps < -most)
    s.refuse(key, "can never be met: an event holds it in 32 bits, up to " +
                      in_words(most / unit.steps) + "; choose a range that overlaps it");
  if (table_units::whole_from(r.range.from * unit.steps) >
      table_units::whole_to(r.range.to * unit.steps))
    s.refuse(key, "can never be met: an event holds it in steps of " + in_words(1 / unit.steps) +
                      ", of which none lies in the range; widen it");
  return r;
}

void read_clusters(const section& s, complaints& wrong, cluster_settings& c) {
  s.allow({"crystal_threshold", "crystal_window", "neighbour_distance"});
  wrong.hear([&] {
    c.crystal_threshold = {s.positive("crystal_threshold", c.crystal_threshold),
                           s.place("crystal_threshold")};
  });
  wrong.hear([&] { c.crystal_window = window_of(s, "crystal_window", c.crystal_window); });
  wrong.hear([&] {
    c.neighbour_distance = {
        s.number_within("neighbour_distance", 0, most_distance, c.neighbour_distance),
        s.place("neighbour_distance")};
  });
}

/// Pairs of numbers, the first of each rising.
std::vector<std::pair<double, double>> correction_of(const section& s) {
  constexpr std::string_view key = "energy_correction";
  constexpr double most_lacking = 1000; // MeV
  const auto points = s.pairs(key);
  if (points.size() > max_correction_points)
    s.refuse(key, "must not have more than " + std::to_string(max_correction_points) + " points");
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (std::abs(points[k].first) > most_energy || std::abs(points[k].second) > most_lacking)
      s.refuse(key, "must be pairs of MeV: cluster energy, and what it lacks (at most 1000)");
    if (k > 0 && points[k].first - points[k - 1].first < 1)
      s.refuse(key, "must rise, by at least 1 MeV from pair to pair");
  }
  return points;
}

void read_photons(const section& s, complaints& wrong, photon_settings& p) {
  constexpr double most_scale = 10;
  s.allow({"threshold", "window", "energy_scale", "energy_correction"});
  wrong.hear([&] { p.threshold = s.number_within("threshold", 0, most_energy, p.threshold); });
  wrong.hear([&] { p.window = window_of(s, "window", p.window); });
  wrong.hear([&] {
    p.energy_scale = s.number_within("energy_scale", 1 / most_scale, most_scale, p.energy_scale);
  });
  wrong.hear([&] {
    if (s.has("energy_correction")) p.energy_correction = correction_of(s);
  });
}

void read_vetoes(const section& s, complaints& wrong, veto_settings& v) {
  constexpr double most_factor = 1000;
  s.allow({"threshold_factor", "window_margin", "tolerance", "tolerance_margin"});
  wrong.hear([&] {
    const double factor = s.positive("threshold_factor", v.threshold_factor);
    if (factor > most_factor) s.refuse("threshold_factor", "must not be above 1000");
    v.threshold_factor = {factor, s.place("threshold_factor")};
  });
  wrong.hear([&] {
    v.window_margin = {
        s.number_within("window_margin", -waveform_length, waveform_length, v.window_margin),
        s.place("window_margin")};
  });
  wrong.hear([&] { v.tolerance = s.number_within("tolerance", 0, waveform_length, v.tolerance); });
  wrong.hear([&] {
    v.tolerance_margin =
        s.number_within("tolerance_margin", 0, waveform_length, v.tolerance_margin);
  });
}

counter_settings read_counter(const section& s, complaints& wrong) {
  constexpr std::uint32_t most_neighbours = 64;
  s.allow({"name", "threshold", "window", "tolerance", "neighbours", "within"});
  counter_settings c;
  wrong.hear([&] { c.name = {s.text("name"), s.place("name")}; });
  wrong.hear([&] {
    if (s.has("threshold")) c.threshold = {s.positive("threshold"), s.place("threshold")};
  });
  wrong.hear([&] {
    if (s.has("window")) c.window = window_of(s, "window", {});
  });
  wrong.hear([&] {
    if (s.has("tolerance")) c.tolerance = s.number_within("tolerance", 0, waveform_length);
  });
  wrong.hear([&] {
    if (s.has("neighbours"))
      c.neighbours = {s.count("neighbours", 1, most_neighbours), s.place("neighbours")};
  });
  wrong.hear([&] {
    c.within = s.number_within("within", 0, waveform_length, 0);
    if ((c.neighbours && *c.neighbours > 1) != s.has("within"))
      s.refuse("within", "and neighbours belong together; write both, such as neighbours = 3, "
                         "within = 10.0, or neither");
  });
  return c;
}

void read_conditions(const section& s, complaints& wrong, line_settings& line) {
  wrong.hear([&] { line.trigger_any = triggers_of(s, "trigger"); });
  wrong.hear([&] { line.trigger_none = triggers_of(s, "not_trigger"); });
  for (std::uint32_t i = 0; i < quantities; ++i) {
    const auto q = static_cast<quantity>(i);
    if (s.has(name_of(q))) wrong.hear([&] { line.ranges.push_back(range_of(s, q)); });
  }
  wrong.hear([&] {
    const auto* vetoes = s.find("vetoes");
    if (vetoes == nullptr || !vetoes->is_string()) {
      line.vetoes = names_of(s, "vetoes");
    } else if (s.text("vetoes") == "all") {
      line.all_vetoes = true;
    } else {
      s.refuse("vetoes", "must be \"all\" or a list of counters");
    }
  });
  wrong.hear([&] { line.fired = names_of(s, "fired"); });
  wrong.hear([&] { line.undecodable = s.yes("undecodable", false); });
}

unknown_rule rule_of(const section& s) {
  if (!s.has("when_unknown")) return unknown_rule::ignore;
  const auto word = s.text("when_unknown");
  if (word == "ignore") return unknown_rule::ignore;
  if (word == "keep") return unknown_rule::keep;
  if (word == "refuse") return unknown_rule::refuse;
  s.refuse("when_unknown", "must be \"ignore\", \"keep\" or \"refuse\"");
}

line_settings read_line(const section& s, complaints& wrong) {
  wrong.hear([&] {
    std::vector<std::string_view> keys = {"name",        "trigger",  "not_trigger",
                                          "vetoes",      "fired",    "when_unknown",
                                          "undecodable", "prescale", "priority"};
    for (std::uint32_t i = 0; i < quantities; ++i)
      keys.push_back(name_of(static_cast<quantity>(i)));
    s.allow(keys);
  });
  line_settings line;
  wrong.hear([&] {
    line.name = {s.text("name"), s.place("name")};
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::all_of(line.name.value.begin(), line.name.value.end(), plain))
      s.refuse("name", "may hold letters, digits and _ only: it stands in files and metrics");
  });
  read_conditions(s, wrong, line);
  wrong.hear([&] { line.when_unknown = rule_of(s); });
  wrong.hear([&] { line.prescale = s.count("prescale", 1, most_prescale, line.prescale); });
  wrong.hear([&] {
    line.priority = static_cast<std::uint8_t>(s.count("priority", 0, 0xff, line.priority));
  });
  return line;
}

/// Complains of every name that was there before.
template <class Named>
void check_names(const std::vector<Named>& all, std::string_view what, complaints& wrong) {
  std::set<std::string> seen;
  for (const auto& one : all)
    if (!one.name.value.empty() && !seen.insert(one.name.value).second)
      wrong.add(one.name.place + ": there is a " + std::string(what) + " \"" + one.name.value +
                "\" already; give each a name of its own");
}

/// The times of clusters are those of their crystals.
void check_photon_window(const selection_settings& s, complaints& wrong) {
  const auto& photons = s.photons.window;
  const auto& crystals = s.clusters.crystal_window;
  const auto line = std::find_if(s.lines.begin(), s.lines.end(), asks_for_photons);
  if (line == s.lines.end()) return;
  if (photons.from > crystals.to || photons.to < crystals.from)
    wrong.add((photons.place == time_window{}.place ? crystals : photons).place +
              ": photons.window lies outside of clusters.crystal_window, so that there are no "
              "photons and line \"" +
              line->name.value + "\" can never fire; let the two windows overlap");
}

void check_lines(const selection_settings& s, complaints& wrong) {
  check_names(s.lines, "line", wrong);
  if (s.lines.empty())
    wrong.add(s.source + ": there is no line, so nothing would be kept; add a [[line]]");
  if (s.lines.size() > max_lines)
    wrong.add(s.lines[max_lines].name.place + ": there are " + std::to_string(s.lines.size()) +
              " lines; leave at most " + std::to_string(max_lines));
  for (const auto& line : s.lines) {
    if (line.ranges.size() > line_entry::max_ranges)
      wrong.add(line.ranges[line_entry::max_ranges].place + ": line \"" + line.name.value +
                "\" has " + std::to_string(line.ranges.size()) + " ranges; leave at most " +
                std::to_string(line_entry::max_ranges));
    for (const auto& why : why_never(line, s.photons)) wrong.add(why);
  }
  check_photon_window(s, wrong);
}

} // namespace

selection_settings parse_selection(std::string_view text, std::string_view name) {
  const auto root = parse_toml(text, name);
  const section whole(root, "selection", name);
  selection_settings s;
  s.source = name;
  complaints wrong;
  wrong.hear([&] {
    whole.allow({"sequence", "clusters", "photons", "vetoes", "counter", "line"});
  });
  wrong.hear([&] {
    if (!whole.has("sequence")) return;
    s.sequence = names_of(whole, "sequence");
    if (s.sequence.empty()) whole.refuse("sequence", "must name at least one algorithm");
  });
  const auto read = [&](std::string_view key, const auto& with, auto& to) {
    wrong.hear([&] {
      if (whole.has(key)) with(whole.inner(key), wrong, to);
    });
  };
  read("clusters", read_clusters, s.clusters);
  read("photons", read_photons, s.photons);
  read("vetoes", read_vetoes, s.vetoes);
  wrong.hear([&] {
    whole.for_each_table("counter", [&](const section& part) {
      wrong.hear([&] { s.counters.push_back(read_counter(part, wrong)); });
    });
  });
  wrong.hear([&] {
    whole.for_each_table("line",
                         [&](const section& part) { s.lines.push_back(read_line(part, wrong)); });
  });
  check_names(s.counters, "counter", wrong);
  check_lines(s, wrong);
  wrong.raise();
  return s;
}

selection_settings read_selection(const std::filesystem::path& file) {
  return parse_selection(read_text(file), file.string());
}

} // namespace l3
