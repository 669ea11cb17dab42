// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/parse_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/table.hpp"
#include "selection/algorithms/find_clusters.hpp"
#include "selection/algorithms/keep_waveforms.hpp"
#include "selection/detector/pulse_reach.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/quantity_units.hpp"
#include "selection/trigger/table_units.hpp"

namespace l3 {
namespace {

constexpr double most_energy = 2e6;    // MeV: the limit of 32 bits in keV
constexpr double most_distance = 1000; // mm
constexpr std::uint32_t most_prescale = 1'000'000'000;

time_window window_of(const toml_table& s, std::string_view key, const time_window& missing) {
  if (!s.has(key)) return missing;
  const auto window = read_window(s, key);
  return {{window[0], window[1]}, s.place(key)};
}

std::uint16_t triggers_of(const toml_table& s, std::string_view key) {
  std::vector<std::string_view> names;
  names.reserve(trigger_names.size());
  for (const auto& t : trigger_names) names.push_back(t.name);
  std::uint16_t bits = 0;
  for (const auto& name : s.texts(key)) {
    const auto known = std::find(names.begin(), names.end(), name.value);
    if (known == names.end()) {
      s.wrong().add(name.place, "there is no trigger bit {}; {}", quote(name.value),
                    suggest(name.value, names));
    } else {
      bits = static_cast<std::uint16_t>(bits | trigger_names[known - names.begin()].bit);
    }
  }
  return bits;
}

/// Why no event can be in the range; empty if one can.
std::string why_empty(const interval& range, const quantity_unit& unit) {
  constexpr double most = 0x7fffffff; // steps
  if (!(range.from <= range.to))
    return "the range must rise; write [from, to], inf for an open end";
  if (range.to < unit.least || range.from > unit.most)
    return fmt::format("the quantity lies within {:g} to {:g}; choose a range that overlaps it",
                       unit.least, unit.most);
  if (range.from * unit.steps > most || range.to * unit.steps < -most)
    return fmt::format("an event holds it in 32 bits, up to {:g}; choose a range that overlaps it",
                       most / unit.steps);
  if (table_units::whole_from(range.from * unit.steps) >
      table_units::whole_to(range.to * unit.steps))
    return fmt::format(
        "an event holds it in steps of {:g}, and no step lies in the range; widen it",
        1 / unit.steps);
  return "";
}

/// Adds [from, to], or one number for both.
void add_range(const toml_table& s, quantity q, std::vector<range_settings>& ranges) {
  const auto key = name_of(q);
  if (!s.has(key)) return;
  const auto number = s.find(key)->number();
  const auto ends = number ? std::vector{*number, *number} : s.numbers(key, 2);
  if (ends.empty()) return;
  const interval range{ends[0], ends[1]};
  if (const auto why = why_empty(range, unit_of(q)); !why.empty())
    return s.complain(key, "can never be met: " + why);
  ranges.push_back({q, range, s.place(key)});
}

void read_clusters(const toml_table& s, cluster_settings& c) {
  s.allow({}, {"crystal_threshold", "event_window", "crystal_window", "neighbour_distance"});
  c.crystal_threshold = s.positive("crystal_threshold", most_energy, c.crystal_threshold);
  c.event_window = window_of(s, "event_window", c.event_window);
  constexpr double widest =
      double{find_clusters::time_steps} * find_clusters::time_step / table_units::time;
  if (c.event_window.to - c.event_window.from > widest)
    s.complain("event_window", fmt::format("is more than {:g} ns wide; narrow it", widest));
  c.crystal_window = window_of(s, "crystal_window", c.crystal_window);
  c.neighbour_distance = s.number("neighbour_distance", 0, most_distance, c.neighbour_distance);
}

/// Pairs of numbers with increasing first numbers.
std::vector<std::pair<double, double>> correction_of(const toml_table& s) {
  constexpr std::string_view key = "energy_correction";
  constexpr double most_lacking = 1000; // MeV
  std::vector<std::pair<double, double>> points;
  const auto refuse = [&](const std::string& text) {
    s.complain(key, text);
    return std::vector<std::pair<double, double>>{};
  };
  const auto* list = s.find(key)->as<toml_value::list>();
  if (list == nullptr || list->size() > max_correction_points)
    return refuse(fmt::format("is not a list of at most {} pairs of numbers: [[1.0, 2.0], …]",
                              max_correction_points));
  for (const auto& entry : *list) {
    const auto pair = entry.numbers(2);
    if (pair.empty()) return refuse("is not a list of pairs of numbers: [[1.0, 2.0], …]");
    if (!(std::abs(pair[0]) <= most_energy && std::abs(pair[1]) <= most_lacking))
      return refuse("must be pairs of MeV: cluster energy and correction (at most 1000)");
    if (!points.empty() && pair[0] - points.back().first < 1)
      return refuse("must rise, by at least 1 MeV from pair to pair");
    points.emplace_back(pair[0], pair[1]);
  }
  return points;
}

void read_photons(const toml_table& s, photon_settings& p) {
  constexpr double most_scale = 10;
  s.allow({}, {"threshold", "window", "energy_scale", "energy_correction"});
  p.threshold = s.number("threshold", 0, most_energy, p.threshold);
  p.window = window_of(s, "window", p.window);
  p.energy_scale = s.number("energy_scale", 1 / most_scale, most_scale, p.energy_scale);
  if (s.has("energy_correction")) p.energy_correction = correction_of(s);
}

void read_vetoes(const toml_table& s, veto_settings& v) {
  constexpr double most_factor = 1000;
  s.allow({}, {"threshold_factor", "window_margin", "tolerance", "tolerance_margin"});
  v.threshold_factor = s.positive("threshold_factor", most_factor, v.threshold_factor);
  v.window_margin = s.number("window_margin", -waveform_length, waveform_length, v.window_margin);
  v.tolerance = s.number("tolerance", 0, waveform_length, v.tolerance);
  v.tolerance_margin = s.number("tolerance_margin", 0, waveform_length, v.tolerance_margin);
}

constexpr std::uint32_t most_kept_neighbours = 3;

void read_suppression(const toml_table& s, suppression_settings& p) {
  constexpr double most_sigma = 10000;
  s.allow({}, {"sigma", "seed_sigma", "neighbours", "exempt"});
  p.sigma = s.positive("sigma", most_sigma, p.sigma);
  p.seed_sigma = s.positive("seed_sigma", most_sigma, p.seed_sigma);
  if (p.seed_sigma < p.sigma) s.complain("seed_sigma", "is below sigma; raise it");
  p.neighbours = s.count("neighbours", 0, most_kept_neighbours, p.neighbours);
  p.exempt = s.texts("exempt");
}

counter_settings read_counter(const toml_table& s) {
  constexpr std::uint32_t most_neighbours = 64;
  s.allow({"name"},
          {"threshold", "window", "tolerance", "neighbours", "within", "kept_neighbours"});
  counter_settings c;
  c.name = s.text("name");
  if (s.has("threshold")) c.threshold = s.positive("threshold", most_energy);
  if (s.has("window")) c.window = window_of(s, "window", {});
  if (s.has("tolerance")) c.tolerance = s.number("tolerance", 0, waveform_length);
  if (s.has("neighbours")) c.neighbours = s.count("neighbours", 1, most_neighbours);
  c.within = s.number("within", 0, waveform_length);
  if ((c.neighbours && *c.neighbours > 1) != s.has("within"))
    s.complain("within", "and neighbours must be set together; write both, such as neighbours = 3, "
                         "within = 10.0, or neither");
  if (s.has("kept_neighbours"))
    c.kept_neighbours = s.count("kept_neighbours", 0, most_kept_neighbours).value;
  return c;
}

unknown_rule rule_of(const toml_table& s) {
  const auto word = s.text("when_unknown").value;
  if (word == "keep") return unknown_rule::keep;
  if (word == "refuse") return unknown_rule::refuse;
  if (!word.empty() && word != "ignore")
    s.complain("when_unknown", R"(is not one of "ignore", "keep", "refuse")");
  return unknown_rule::ignore;
}

/// Returns nothing if it was refused.
std::optional<setting<event_payload>> payload_of(const toml_table& s) {
  if (!s.has("payload")) return setting<event_payload>(event_payload::all);
  const auto word = s.text("payload");
  for (std::uint32_t p = 0; p < event_payloads; ++p)
    if (const auto payload = static_cast<event_payload>(p); word.value == name_of(payload))
      return setting<event_payload>{payload, word.place};
  if (!word.value.empty())
    s.complain("payload", R"(is not one of "all", "suppressed", "features", "summary")");
  return {};
}

void read_vetoes_of_line(const toml_table& s, line_settings& line) {
  const auto* vetoes = s.find("vetoes");
  const auto* word = vetoes == nullptr ? nullptr : vetoes->as<std::string>();
  line.all_vetoes = word != nullptr && *word == "all";
  if (line.all_vetoes) return;
  if (word == nullptr)
    line.vetoes = s.texts("vetoes");
  else
    s.complain("vetoes", "is neither \"all\" nor a list of counters");
}

line_settings read_line(const toml_table& s) {
  std::vector<std::string_view> keys = {"trigger",      "not_trigger", "vetoes",   "fired",
                                        "when_unknown", "undecodable", "overfull", "prescale",
                                        "priority",     "payload",     "control"};
  for (std::uint32_t i = 0; i < quantities; ++i) keys.push_back(name_of(static_cast<quantity>(i)));
  s.allow({"name"}, keys);
  line_settings line;
  line.name = s.text("name");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!std::all_of(line.name.value.begin(), line.name.value.end(), plain))
    s.complain("name", "may contain only letters, digits and _: it is used in files and metrics");
  line.trigger_any = triggers_of(s, "trigger");
  line.trigger_none = triggers_of(s, "not_trigger");
  for (std::uint32_t i = 0; i < quantities; ++i)
    add_range(s, static_cast<quantity>(i), line.ranges);
  read_vetoes_of_line(s, line);
  line.fired = s.texts("fired");
  line.undecodable = s.yes("undecodable");
  line.overfull = s.yes("overfull");
  line.when_unknown = rule_of(s);
  line.prescale = s.count("prescale", 1, most_prescale, line.prescale);
  line.priority = static_cast<std::uint8_t>(s.count("priority", 0, 0xff, line.priority).value);
  const auto payload = payload_of(s);
  line.payload = payload.value_or(event_payload::all);
  if (s.has("control")) line.control = s.count("control", 1, most_prescale).value;
  if (line.control != 0 && payload && payload->value == event_payload::all)
    s.complain("control",
               "has no effect on a line that keeps all waveforms; remove it, or set payload");
  return line;
}

/// Reports every repeated name.
template <class Named>
void check_names(const std::vector<Named>& all, std::string_view what, complaints& wrong) {
  std::set<std::string> seen;
  for (const auto& one : all)
    if (!one.name.value.empty() && !seen.insert(one.name.value).second)
      wrong.add(one.name.place, "there is already a {} {}; give each its own name", what,
                quote(one.name.value));
}

/// The number of photons that an event needs to have the quantity.
interval photons_for(quantity q) {
  constexpr double any = std::numeric_limits<double>::infinity();
  switch (q) {
  case quantity::photon_energy:
  case quantity::photon_energy_min:
  case quantity::photon_energy_max:
  case quantity::photon_inner:
  case quantity::photon_radius:
  case quantity::centre_radius: return {1, any};
  case quantity::photon_distance:
  case quantity::photon_time_spread: return {2, any};
  case quantity::opening:
  case quantity::vertex_z:
  case quantity::transverse_momentum: return {2, 2};
  default: return {0, any};
  }
}

/// Reports contradictory conditions, which would not be noticed while data are taken: a line that
/// never fires looks like one that found nothing.
void check_line(const line_settings& line, complaints& wrong) {
  const auto say = [&](const source_place& place, const std::string& what) {
    wrong.add(place, "line {} can never fire: {}", quote(line.name.value), what);
  };
  for (const auto& t : trigger_names)
    if ((line.trigger_any & line.trigger_none & t.bit) != 0)
      say(line.name.place, fmt::format("it requires and refuses the trigger bit {}; remove it from "
                                       "trigger or from not_trigger",
                                       quote(t.name)));
  for (const auto& on : line.fired)
    for (const auto& off : line.vetoes)
      if (on.value == off.value)
        say(on.place, fmt::format("counter {} must have fired and must not have fired; remove it "
                                  "from fired or from vetoes",
                                  quote(on.value)));
  if (line.overfull &&
      (line.all_vetoes || !line.vetoes.empty() || !line.fired.empty() || !line.ranges.empty()))
    say(line.name.place, "an overfull event has no quantities and no counters; remove its ranges, "
                         "vetoes and fired");
  const auto photons = std::ranges::find(line.ranges, quantity::photons, &range_settings::what);
  if (photons == line.ranges.end()) return;
  for (const auto& r : line.ranges) {
    const auto needs = photons_for(r.what);
    if (photons->range.to < needs.from || photons->range.from > needs.to)
      say(r.place,
          fmt::format("events with so many photons have no {}; remove it or change photons",
                      name_of(r.what)));
  }
}

void check_lines(const selection_settings& s, complaints& wrong) {
  check_names(s.lines, "line", wrong);
  if (s.lines.empty())
    wrong.add({s.source}, "there is no line, so nothing would be kept; add a [[line]]");
  if (s.lines.size() > max_lines)
    wrong.add(s.lines[max_lines].name.place, "there are {} lines; leave at most {}", s.lines.size(),
              max_lines);
  for (const auto& line : s.lines) {
    if (line.ranges.size() > line_entry::max_ranges)
      wrong.add(line.ranges[line_entry::max_ranges].place,
                "line {} has {} ranges; leave at most {}", quote(line.name.value),
                line.ranges.size(), line_entry::max_ranges);
    check_line(line, wrong);
  }
}

} // namespace

selection_settings parse_selection(std::string_view text, const std::string& name) {
  const auto root = parse_toml(text, name);
  complaints wrong;
  const toml_table whole(root, name, wrong);
  whole.allow({}, {"sequence", "clusters", "photons", "vetoes", "suppression", "counter", "line"});
  selection_settings s;
  s.source = name;
  if (whole.has("sequence")) {
    s.sequence = whole.texts("sequence");
    if (s.sequence.empty() && !wrong.any())
      whole.complain("sequence", "must name at least one algorithm");
  }
  whole.inner("clusters", [&](const toml_table& part) { read_clusters(part, s.clusters); });
  whole.inner("photons", [&](const toml_table& part) { read_photons(part, s.photons); });
  whole.inner("vetoes", [&](const toml_table& part) { read_vetoes(part, s.vetoes); });
  whole.inner("suppression",
              [&](const toml_table& part) { read_suppression(part, s.suppression); });
  whole.for_each_table("counter",
                       [&](const toml_table& part) { s.counters.push_back(read_counter(part)); });
  whole.for_each_table("line", [&](const toml_table& part) { s.lines.push_back(read_line(part)); });
  check_names(s.counters, "counter", wrong);
  check_lines(s, wrong);
  if (!whole.has("sequence") && std::any_of(s.lines.begin(), s.lines.end(), [](const auto& l) {
        return l.payload.value != event_payload::all;
      }))
    s.sequence.emplace_back(std::string(keep_waveforms::name));
  wrong.raise();
  return s;
}

} // namespace l3
