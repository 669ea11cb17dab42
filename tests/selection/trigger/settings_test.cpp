// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "selection/detector/detector.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/quantity_units.hpp"

namespace {

using namespace l3;

constexpr double any = std::numeric_limits<double>::infinity();

const char* const sample = R"(sequence = ["a", "b"]
[clusters]
crystal_threshold = 4.0
crystal_window = [-20.0, 25.0]
neighbour_distance = 60.0
[photons]
threshold = 25.0
window = [-10.0, 12.0]
energy_scale = 1.02
energy_correction = [[20.0, 9.0], [75.0, 22.5]]
[vetoes]
threshold_factor = 3.0
window_margin = 1.0
tolerance = 8.0
tolerance_margin = 4.0
[[counter]]
name = "BHPV"
threshold = 7.5
window = [-3.0, 4.0]
tolerance = 6.0
neighbours = 3
within = 9.0
[[line]]
name = "first"
trigger = ["two_clusters", "four_clusters"]
not_trigger = ["led"]
photons = 2
photon_energy = [500.0, inf]
vertex_z = [-inf, 5000.0]
vetoes = ["CBAR", "NCC single"]
fired = ["CV front"]
when_unknown = "refuse"
prescale = 7
priority = 9
[[line]]
name = "second"
vetoes = "all"
undecodable = true
)";

// What is said of a text after one edit of it.
std::string refusal(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    (void)parse_selection(text, "s.toml");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}
std::string refusal(const std::string& from, const std::string& to) {
  return refusal(sample, from, to);
}

TEST(settings, every_key_arrives) {
  const auto s = parse_selection(sample, "s.toml");
  EXPECT_EQ(s.source, "s.toml");
  ASSERT_EQ(s.sequence.size(), 2U);
  EXPECT_EQ(s.sequence[1].value, "b");
  EXPECT_EQ(to_string(s.sequence[1].place), "s.toml:1:18");
  EXPECT_EQ(s.clusters.crystal_threshold, 4.0);
  EXPECT_EQ(to_string(s.clusters.crystal_threshold.place), "s.toml:3:21");
  EXPECT_EQ(s.clusters.crystal_window.from, -20.0);
  EXPECT_EQ(s.clusters.crystal_window.to, 25.0);
  EXPECT_EQ(s.clusters.neighbour_distance, 60.0);
  EXPECT_EQ(s.photons.threshold, 25.0);
  EXPECT_EQ(s.photons.window.from, -10.0);
  EXPECT_EQ(s.photons.window.to, 12.0);
  EXPECT_EQ(s.photons.energy_scale, 1.02);
  EXPECT_EQ(s.photons.energy_correction,
            (std::vector<std::pair<double, double>>{{20, 9}, {75, 22.5}}));
  EXPECT_EQ(s.vetoes.threshold_factor, 3.0);
  EXPECT_EQ(s.vetoes.window_margin, 1.0);
  EXPECT_EQ(s.vetoes.tolerance, 8.0);
  EXPECT_EQ(s.vetoes.tolerance_margin, 4.0);

  ASSERT_EQ(s.counters.size(), 1U);
  const auto& c = s.counters[0];
  EXPECT_EQ(c.name.value, "BHPV");
  EXPECT_EQ(to_string(c.name.place), "s.toml:17:8");
  EXPECT_EQ(c.threshold.value(), 7.5);
  EXPECT_EQ(c.window.value().from, -3.0);
  EXPECT_EQ(c.window.value().to, 4.0);
  EXPECT_EQ(c.tolerance.value(), 6.0);
  EXPECT_EQ(c.neighbours.value().value, 3U);
  EXPECT_EQ(c.within, 9.0);

  ASSERT_EQ(s.lines.size(), 2U);
  const auto& first = s.lines[0];
  EXPECT_EQ(first.name.value, "first");
  EXPECT_EQ(first.trigger_any, trigger_two_clusters | trigger_four_clusters);
  EXPECT_EQ(first.trigger_none, trigger_led);
  ASSERT_EQ(first.ranges.size(), 3U);
  EXPECT_EQ(first.ranges[0].what, quantity::photons);
  EXPECT_EQ(first.ranges[0].range.from, 2.0);
  EXPECT_EQ(first.ranges[0].range.to, 2.0);
  EXPECT_EQ(first.ranges[1].what, quantity::photon_energy);
  EXPECT_EQ(first.ranges[1].range.to, any);
  EXPECT_EQ(first.ranges[2].what, quantity::vertex_z);
  EXPECT_EQ(first.ranges[2].range.from, -any);
  EXPECT_EQ(to_string(first.ranges[2].place), "s.toml:29:12");
  ASSERT_EQ(first.vetoes.size(), 2U);
  EXPECT_EQ(first.vetoes[1].value, "NCC single");
  EXPECT_FALSE(first.all_vetoes);
  ASSERT_EQ(first.fired.size(), 1U);
  EXPECT_EQ(first.fired[0].value, "CV front");
  EXPECT_EQ(first.when_unknown, unknown_rule::refuse);
  EXPECT_EQ(first.prescale, 7U);
  EXPECT_EQ(first.priority, 9U);
  EXPECT_FALSE(first.undecodable);

  const auto& second = s.lines[1];
  EXPECT_TRUE(second.all_vetoes);
  EXPECT_TRUE(second.undecodable);
  EXPECT_EQ(second.trigger_any, 0U);
  EXPECT_EQ(second.when_unknown, unknown_rule::ignore);
  EXPECT_EQ(second.prescale, 1U);
  EXPECT_EQ(second.priority, 100U);
}

const char* const limiting = R"([suppression]
sigma = 4.5
seed_sigma = 30.0
neighbours = 0
exempt = ["CV front", "NCC single"]
[[counter]]
name = "BHPV"
kept_neighbours = 2
[[line]]
name = "x"
payload = "suppressed"
control = 20
[[line]]
name = "y"
)";

TEST(settings, payloads_arrive) {
  const auto s = parse_selection(limiting, "s.toml");
  EXPECT_EQ(s.suppression.sigma, 4.5);
  EXPECT_EQ(s.suppression.seed_sigma, 30);
  EXPECT_EQ(s.suppression.neighbours, 0U);
  ASSERT_EQ(s.suppression.exempt.size(), 2U);
  EXPECT_EQ(s.suppression.exempt[1].value, "NCC single");
  EXPECT_EQ(s.counters[0].kept_neighbours, 2U);
  EXPECT_EQ(s.lines[0].payload.value, event_payload::suppressed);
  EXPECT_EQ(s.lines[0].control, 20U);
  EXPECT_EQ(s.lines[1].payload.value, event_payload::all);
  EXPECT_EQ(s.lines[1].control, 0U);
}

TEST(settings, payloads_that_make_no_sense_are_refused) {
  const auto refused = [](const std::string& from, const std::string& to) {
    return refusal(limiting, from, to);
  };
  EXPECT_EQ(refused("\"suppressed\"", "\"most\""),
            "s.toml:11:11: line.payload = \"most\" is not one of \"all\", \"suppressed\", "
            "\"features\", \"summary\"");
  EXPECT_NE(refused("payload = \"suppressed\"\n", "").find("line.control"), std::string::npos);
  EXPECT_NE(refused("control = 20", "control = 0").find("line.control"), std::string::npos);
  EXPECT_NE(refused("seed_sigma = 30.0", "seed_sigma = 4.0").find("suppression.seed_sigma"),
            std::string::npos);
  EXPECT_NE(refused("kept_neighbours = 2", "kept_neighbours = 4").find("counter.kept_neighbours"),
            std::string::npos);
}

/// Only a menu whose lines limit something needs the step that does it.
TEST(settings, a_menu_that_limits_payloads_ends_with_the_step_that_does) {
  const auto last = [](const std::string& more) {
    return parse_selection("[[line]]\nname = \"x\"\n" + more, "s.toml").sequence.back().value;
  };
  EXPECT_EQ(last(""), "decide");
  EXPECT_EQ(last("payload = \"all\"\n"), "decide");
  EXPECT_EQ(last("payload = \"summary\"\n"), "keep_waveforms");
}

TEST(settings, what_is_left_out_has_its_default) {
  const auto s = parse_selection("[[line]]\nname = \"all\"\n", "s.toml");
  const selection_settings defaults;
  EXPECT_EQ(s.sequence.size(), defaults.sequence.size());
  EXPECT_EQ(s.clusters.crystal_threshold, defaults.clusters.crystal_threshold.value);
  EXPECT_EQ(s.photons.window.to, defaults.photons.window.to);
  EXPECT_EQ(s.vetoes.threshold_factor, defaults.vetoes.threshold_factor.value);
  EXPECT_TRUE(s.counters.empty());
}

TEST(settings, the_built_in_file_has_the_lines_of_the_experiment) {
  const auto s = default_selection();
  std::string names;
  for (const auto& line : s.lines) names += line.name.value + ' ';
  EXPECT_EQ(names, "pi0nunu klpi0pi0 five_photon three_pi0 two_gamma minimum_bias accidental "
                   "calibration pass_through opaque overfull ");
  // What the struct has by default is what the file explains.
  const selection_settings defaults;
  ASSERT_EQ(s.sequence.size(), defaults.sequence.size());
  for (std::size_t i = 0; i < s.sequence.size(); ++i)
    EXPECT_EQ(s.sequence[i].value, defaults.sequence[i].value);
  EXPECT_EQ(s.clusters.crystal_threshold, defaults.clusters.crystal_threshold.value);
  EXPECT_EQ(s.clusters.event_window.to, defaults.clusters.event_window.to);
  EXPECT_EQ(s.clusters.crystal_window.to, defaults.clusters.crystal_window.to);
  EXPECT_EQ(s.clusters.neighbour_distance, defaults.clusters.neighbour_distance);
  EXPECT_EQ(s.photons.threshold, defaults.photons.threshold);
  EXPECT_EQ(s.photons.energy_correction, defaults.photons.energy_correction);
  EXPECT_EQ(s.vetoes.threshold_factor, defaults.vetoes.threshold_factor.value);
  EXPECT_EQ(s.vetoes.window_margin, defaults.vetoes.window_margin.value);
  EXPECT_EQ(s.vetoes.tolerance, defaults.vetoes.tolerance);
  EXPECT_EQ(s.vetoes.tolerance_margin, defaults.vetoes.tolerance_margin);
}

TEST(settings, unknown_names_are_told_with_those_that_there_are) {
  EXPECT_EQ(refusal("threshold = 25.0", "treshold = 25.0"),
            "s.toml:7:1: photons.treshold is not a key; did you mean threshold?");
  EXPECT_EQ(refusal("[clusters]", "[cluster]"),
            "s.toml:2:2: cluster is not a key; did you mean clusters?");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]", "photon_enrgy = [500.0, inf]"),
            "s.toml:28:1: line.photon_enrgy is not a key; did you mean photon_energy?");
  EXPECT_EQ(refusal("threshold = 25.0", "zzzzzz = 25.0"),
            "s.toml:7:1: photons.zzzzzz is not a key; there are threshold, window, energy_scale, "
            "energy_correction");
  EXPECT_EQ(
      refusal("\"four_clusters\"", "\"muon\""),
      "s.toml:25:28: there is no trigger bit \"muon\"; there are two_clusters, four_clusters, "
      "five_clusters, six_clusters, minimum_bias, accidental, led, laser, cosmic, clock, on_spill");
  EXPECT_EQ(refusal("\"four_clusters\"", "\"for_clusters\""),
            "s.toml:25:28: there is no trigger bit \"for_clusters\"; did you mean four_clusters?");
}

TEST(settings, what_is_out_of_range_is_refused_where_it_stands) {
  EXPECT_EQ(refusal("crystal_threshold = 4.0", "crystal_threshold = -4.0"),
            "s.toml:3:21: clusters.crystal_threshold = -4.0 is not above 0");
  EXPECT_EQ(refusal("crystal_threshold = 4.0", "crystal_threshold = \"4\""),
            "s.toml:3:21: clusters.crystal_threshold = \"4\" is not a number");
  EXPECT_EQ(refusal("threshold = 25.0", "threshold = nan"),
            "s.toml:7:13: photons.threshold = nan is not a number");
  EXPECT_EQ(refusal("threshold = 25.0", "threshold = -1.0"),
            "s.toml:7:13: photons.threshold = -1.0 is out of range 0..2e+06");
  EXPECT_EQ(refusal("threshold = 7.5", "threshold = 0.0"),
            "s.toml:18:13: counter.threshold = 0.0 is not above 0");
  EXPECT_EQ(refusal("[-3.0, 4.0]", "[4.0, -3.0]"),
            "s.toml:19:10: counter.window = [4.0, -3.0] must rise; write [from, to]");
  EXPECT_EQ(refusal("[-20.0, 25.0]", "[-20.0, 2500.0]"),
            "s.toml:4:18: clusters.crystal_window = [-20.0, 2500.0] is out of range -512..512");
  EXPECT_EQ(refusal("crystal_window = [-20.0, 25.0]", "event_window = [-200.0, 100.0]"),
            "s.toml:4:16: clusters.event_window = [-200.0, 100.0] is more than 256 ns wide; "
            "narrow it");
  EXPECT_EQ(refusal("neighbour_distance = 60.0", "neighbour_distance = 1e6"),
            "s.toml:5:22: clusters.neighbour_distance = 1000000.0 is out of range 0..1000");
  EXPECT_EQ(refusal("energy_scale = 1.02", "energy_scale = 0.0"),
            "s.toml:9:16: photons.energy_scale = 0.0 is out of range 0.1..10");
  EXPECT_EQ(
      refusal("[75.0, 22.5]", "[20.5, 22.5]"),
      "s.toml:10:21: photons.energy_correction = [[20.0, 9.0], [20.5, 22.5]] must rise, by at "
      "least 1 MeV from pair to pair");
  EXPECT_EQ(
      refusal("[75.0, 22.5]", "75.0"),
      "s.toml:10:21: photons.energy_correction = [[20.0, 9.0], 75.0] is not a list of pairs of "
      "numbers: [[1.0, 2.0], …]");
  EXPECT_EQ(refusal("threshold_factor = 3.0", "threshold_factor = 0"),
            "s.toml:12:20: vetoes.threshold_factor = 0 is not above 0");
  EXPECT_EQ(refusal("within = 9.0\n", ""),
            "s.toml:16:1: counter.within and neighbours must be set together; write both, such as "
            "neighbours = 3, within = 10.0, or neither");
  EXPECT_EQ(
      refusal("\"refuse\"", "\"maybe\""),
      "s.toml:32:16: line.when_unknown = \"maybe\" is not one of \"ignore\", \"keep\", \"refuse\"");
  EXPECT_EQ(refusal("vetoes = \"all\"", "vetoes = \"al\""),
            "s.toml:37:10: line.vetoes = \"al\" is neither \"all\" nor a list of counters");
  EXPECT_EQ(refusal("priority = 9", "priority = 256"),
            "s.toml:34:12: line.priority = 256 is out of range 0..255");
  EXPECT_EQ(refusal("name = \"second\"", "name = \"se cond\""),
            "s.toml:36:8: line.name = \"se cond\" may hold letters, digits and _ only: it stands "
            "in files and metrics");
  EXPECT_EQ(refusal("sequence = [\"a\", \"b\"]", "sequence = []"),
            "s.toml:1:12: sequence = [] must name at least one algorithm");
  EXPECT_EQ(refusal("[[counter]]", "[counter]"),
            "s.toml:16:1: counter = {…} is not a list of tables; write [[counter]]");
  EXPECT_EQ(refusal("photons = 2", "photons = = 2").substr(0, 12), "s.toml:27:11");
}

TEST(settings, a_line_that_can_never_fire_is_refused) {
  EXPECT_EQ(refusal("prescale = 7", "prescale = 0"),
            "s.toml:33:12: line.prescale = 0 is out of range 1..1000000000");
  EXPECT_EQ(refusal("[500.0, inf]", "[500.0, 400.0]"),
            "s.toml:28:17: line.photon_energy = [500.0, 400.0] can never be met: the range must "
            "rise; write "
            "[from, to], inf for an open end");
  EXPECT_EQ(refusal("[500.0, inf]", "[500.0, nan]"),
            "s.toml:28:17: line.photon_energy = [500.0, nan] can never be met: the range must "
            "rise; write "
            "[from, to], inf for an open end");
  EXPECT_EQ(refusal("[500.0, inf]", "[-5.0, -1.0]"),
            "s.toml:28:17: line.photon_energy = [-5.0, -1.0] can never be met: the quantity lies "
            "within 0 to inf; choose a range that overlaps it");
  EXPECT_EQ(refusal("photons = 2\n", "photons = [65, inf]\n"),
            "s.toml:27:11: line.photons = [65, inf] can never be met: the quantity lies within 0 "
            "to 64; choose a range that overlaps it");
  EXPECT_EQ(refusal("photons = 2\n", "photons = 3\n"),
            "s.toml:29:12: line \"first\" can never fire: events with so many photons have no "
            "vertex_z; take it out or change photons");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]",
                    "photon_energy = [0.0, 550.0]\nphoton_energy_max = [526.0, 600.0]"),
            "s.toml:28:17: line \"first\" can never fire: the photons that it asks for, 2 or "
            "more, have at least 551 MeV together; raise the range's end");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]", "photon_energy_max = [0.0, 24.0]"),
            "s.toml:28:21: line \"first\" can never fire: every photon is above the threshold for "
            "photons; raise the range's end");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]", "photon_time_spread = [23.0, inf]"),
            "s.toml:28:22: line \"first\" can never fire: photons are at most as far apart as the "
            "window for photons is wide; lower the range's begin");
  EXPECT_EQ(
      refusal("fired = [\"CV front\"]", "fired = [\"CBAR\"]"),
      "s.toml:31:10: line \"first\" can never fire: counter \"CBAR\" must have fired and must "
      "not; remove it from fired or from vetoes");
  EXPECT_EQ(refusal("not_trigger = [\"led\"]", "not_trigger = [\"led\", \"two_clusters\"]"),
            "s.toml:24:8: line \"first\" can never fire: it requires and refuses the trigger bit "
            "\"two_clusters\"; remove it from trigger or from not_trigger");
}

TEST(settings, lines_for_overfull_events_ask_for_nothing_that_such_events_lack) {
  const auto s = parse_selection("[[line]]\nname = \"a\"\noverfull = true\n"
                                 "[[line]]\nname = \"b\"\n",
                                 "s.toml");
  EXPECT_TRUE(s.lines[0].overfull);
  EXPECT_FALSE(s.lines[1].overfull);
  for (const std::string condition :
       {"vetoes = \"all\"", "vetoes = [\"CBAR\"]", "fired = [\"CBAR\"]", "photons = 2"})
    EXPECT_EQ(
        refusal("vetoes = \"all\"\nundecodable = true", condition + "\noverfull = true"),
        "s.toml:36:8: line \"second\" can never fire: an overfull event has no quantities and "
        "no counters; remove its ranges, vetoes and fired");
}

// What is said of the line once its photon_energy is something else.
std::string never(const std::string& ranges) {
  return refusal("photon_energy = [500.0, inf]", ranges);
}

TEST(settings, ranges_that_exclude_each_other_are_refused) {
  const std::string line = "s.toml:28:21: line \"first\" can never fire: ";
  EXPECT_EQ(never("photon_energy_min = [501.0, inf]\nphoton_energy_max = [0.0, 500.0]"),
            line + "photon_energy_min is never above photon_energy_max; change one of the two "
                   "ranges");
  EXPECT_EQ(never("photon_energy_min = [0.0, 24.0]"),
            line + "every photon is above the threshold for photons; raise the range's end");
  EXPECT_EQ(never("photon_energy = [0.0, 49.0]"),
            "s.toml:28:17: line \"first\" can never fire: the photons that it asks for, 2 or "
            "more, have at least 50 MeV together; raise the range's end");
  EXPECT_EQ(never("photon_energy = [0.0, 499.0]\nphoton_energy_min = [250.0, inf]"),
            "s.toml:28:17: line \"first\" can never fire: the photons that it asks for, 2 or "
            "more, have at least 500 MeV together; raise the range's end");
  EXPECT_EQ(never("photon_energy = [601.0, inf]\nphoton_energy_max = [0.0, 300.0]"),
            "s.toml:28:17: line \"first\" can never fire: 2 photons together have at most 600 MeV; "
            "lower the range's begin");
  EXPECT_EQ(never("photon_energy = [0.0, 500.0]\ntransverse_momentum = [501.0, inf]"),
            "s.toml:29:23: line \"first\" can never fire: transverse_momentum is never above "
            "photon_energy; change one of the two ranges");
  EXPECT_EQ(never("crystals = 3"),
            "s.toml:28:12: line \"first\" can never fire: the photons that it asks for, 2 or "
            "more, take at least 4 crystals; raise the range's end");
  EXPECT_EQ(never("clusters = [0, 1]"),
            "s.toml:28:12: line \"first\" can never fire: the photons that it asks for, 2 or "
            "more, take at least 2 clusters; raise the range's end");
  EXPECT_EQ(never("clusters = [3, inf]\ncrystals = [0, 5]"),
            "s.toml:28:12: line \"first\" can never fire: clusters is never above half of "
            "crystals; change one of the two ranges");
  EXPECT_EQ(never("photon_distance = [401.0, inf]\nphoton_radius = [0.0, 200.0]"),
            "s.toml:28:19: line \"first\" can never fire: photon_distance is never above twice "
            "photon_radius; change one of the two ranges");
  EXPECT_EQ(never("photon_inner = [201.0, inf]\nphoton_radius = [0.0, 200.0]"),
            "s.toml:28:16: line \"first\" can never fire: photon_inner is never above "
            "photon_radius; change one of the two ranges");
}

TEST(settings, a_range_that_holds_no_number_of_an_event_is_refused) {
  EXPECT_EQ(never("photon_energy = [inf, inf]"),
            "s.toml:28:17: line.photon_energy = [inf, inf] can never be met: an event holds it in "
            "32 bits, up to 2.14748e+06; choose a range that overlaps it");
  EXPECT_EQ(refusal("[-inf, 5000.0]", "[-inf, -inf]"),
            "s.toml:29:12: line.vertex_z = [-inf, -inf] can never be met: an event holds it in 32 "
            "bits, up to 2.14748e+08; choose a range that overlaps it");
  EXPECT_EQ(never("photon_energy = [500.0002, 500.0008]"),
            "s.toml:28:17: line.photon_energy = [500.0002, 500.0008] can never be met: an event "
            "holds it in steps of 0.001, and no step lies in the range; widen it");
  EXPECT_EQ(refusal("photons = 2\n", "photons = 2.5\n"),
            "s.toml:27:11: line.photons = 2.5 can never be met: an event holds it in steps of 1, "
            "and no step lies in the range; widen it");
  EXPECT_NE(refusal("photons = 2\n", "photons = [2.4, 2.6]\n"), "");
}

TEST(settings, photons_are_sought_where_crystals_are) {
  EXPECT_EQ(
      refusal("window = [-10.0, 12.0]", "window = [26.0, 30.0]"),
      "s.toml:8:10: photons.window lies outside of clusters.crystal_window, so that there are "
      "no photons and line \"first\" can never fire; let the two windows overlap");
  EXPECT_EQ(refusal("window = [-10.0, 12.0]", "window = [25.0, 30.0]"), "");
}

TEST(settings, ranges_that_only_touch_can_be_met) {
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]",
                    "photon_energy = [0.0, 550.0]\nphoton_energy_max = [525.0, 600.0]"),
            "");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]", "calorimeter_energy = [-5.0, 0.0]"), "");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]", "crystals = 4\nclusters = 2"), "");
  EXPECT_EQ(refusal("photon_energy = [500.0, inf]",
                    "photon_distance = [400.0, inf]\nphoton_radius = [0.0, 200.0]"),
            "");
  EXPECT_EQ(refusal("[500.0, inf]", "[500.0005, 500.0011]"), "");
  EXPECT_EQ(refusal("photons = 2\n", "photons = [1, 64]\n"), "");
}

TEST(settings, names_are_used_once) {
  EXPECT_EQ(refusal("\"second\"", "\"first\""),
            "s.toml:36:8: there is already a line \"first\"; give each its own name");
  EXPECT_EQ(refusal("[[line]]", "[[counter]]\nname = \"BHPV\"\n[[line]]"),
            "s.toml:24:8: there is already a counter \"BHPV\"; give each its own name");
}

TEST(settings, there_are_lines_but_not_too_many) {
  const auto said = [](const std::string& text) -> std::string {
    try {
      (void)parse_selection(text, "s.toml");
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said(""), "s.toml: there is no line, so nothing would be kept; add a [[line]]");
  std::string lines;
  for (std::uint32_t i = 0; i < max_lines; ++i)
    lines += "[[line]]\nname = \"l" + std::to_string(i) + "\"\n";
  EXPECT_EQ(said(lines), "");
  EXPECT_EQ(said(lines + "[[line]]\nname = \"more\"\n"),
            "s.toml:66:8: there are 33 lines; leave at most 32");

  std::string ranges = "[[line]]\nname = \"l\"\n";
  for (std::uint32_t i = 0; i < line_entry::max_ranges; ++i)
    ranges += std::string(name_of(static_cast<quantity>(i))) + " = [0, inf]\n";
  EXPECT_EQ(said(ranges), "");
  EXPECT_EQ(said(ranges + "transverse_momentum = [0, inf]\n"),
            "s.toml:15:23: line \"l\" has 13 ranges; leave at most 12");
}

TEST(settings, all_mistakes_are_told_at_once) {
  std::string text = sample;
  text.replace(text.find("25.0]"), 5, "-25.0]");
  text.replace(text.find("threshold = 7.5"), 15, "threshold = -7.5");
  text.replace(text.find("priority = 9"), 12, "prioriti = 9");
  try {
    (void)parse_selection(text, "s.toml");
    FAIL();
  } catch (const std::runtime_error& e) {
    const std::string what = e.what();
    EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 2);
    EXPECT_NE(what.find("s.toml:4:18: clusters.crystal_window = [-20.0, -25.0] must rise"),
              std::string::npos);
    EXPECT_NE(what.find("s.toml:18:13: counter.threshold = -7.5 is not above 0"),
              std::string::npos);
    EXPECT_NE(what.find("s.toml:34:1: line.prioriti is not a key; did you mean priority?"),
              std::string::npos);
  }
}

TEST(settings, a_file_that_is_not_there_is_named) {
  try {
    (void)read_selection("no/such/file.toml");
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no/such/file.toml: cannot be read: No such file or directory");
  }
}

TEST(settings, every_quantity_has_a_unit_and_a_name) {
  for (std::uint32_t i = 0; i < quantities; ++i) {
    const auto q = static_cast<quantity>(i);
    EXPECT_LT(unit_of(q).least, unit_of(q).most) << name_of(q);
    EXPECT_NE(name_of(q), "") << "quantity " << i;
  }
}

} // namespace
