// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "selection/detector/detector.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/quantity_units.hpp"
#include "tests/error_of.hpp"

namespace {

using namespace l3;

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

std::string refusal(const std::string& text) {
  return error_of([&] { return parse_selection(text, "s.toml"); });
}

// What is said of a text after one edit of it.
std::string refusal(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return refusal(text);
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

/// Only a menu whose lines limit something needs the step that does it.
TEST(settings, a_menu_that_limits_payloads_ends_with_the_step_that_does) {
  const auto last = [](const std::string& more) {
    return parse_selection("[[line]]\nname = \"x\"\n" + more, "s.toml").sequence.back().value;
  };
  EXPECT_EQ(last(""), "decide");
  EXPECT_EQ(last("payload = \"all\"\n"), "decide");
  EXPECT_EQ(last("payload = \"summary\"\n"), "keep_waveforms");
}

/// What the struct has by default is what a file without keys gives, and what the built-in file
/// explains.
TEST(settings, what_is_left_out_has_its_default) {
  const selection_settings defaults;
  for (const auto& s : {default_selection(), parse_selection("[[line]]\nname = \"a\"\n", "s")}) {
    ASSERT_EQ(s.sequence.size(), defaults.sequence.size());
    for (std::size_t i = 0; i < s.sequence.size(); ++i)
      EXPECT_EQ(s.sequence[i].value, defaults.sequence[i].value);
    EXPECT_EQ(s.clusters.crystal_threshold, defaults.clusters.crystal_threshold.value);
    EXPECT_EQ(s.clusters.event_window.to, defaults.clusters.event_window.to);
    EXPECT_EQ(s.clusters.crystal_window.to, defaults.clusters.crystal_window.to);
    EXPECT_EQ(s.clusters.neighbour_distance, defaults.clusters.neighbour_distance);
    EXPECT_EQ(s.photons.threshold, defaults.photons.threshold);
    EXPECT_EQ(s.photons.window.to, defaults.photons.window.to);
    EXPECT_EQ(s.photons.energy_correction, defaults.photons.energy_correction);
    EXPECT_EQ(s.vetoes.threshold_factor, defaults.vetoes.threshold_factor.value);
    EXPECT_EQ(s.vetoes.window_margin, defaults.vetoes.window_margin.value);
    EXPECT_EQ(s.vetoes.tolerance, defaults.vetoes.tolerance);
    EXPECT_EQ(s.vetoes.tolerance_margin, defaults.vetoes.tolerance_margin);
  }
}

/// An edit of a text that makes it wrong, and a part of what is said then; nothing if it stays
/// right.
struct edit {
  const char* from;
  const char* to;
  const char* message;
};
void expect_said(const char* text, std::span<const edit> edits, const std::string& before = "") {
  for (const edit& e : edits) {
    const std::string said = refusal(text, e.from, e.to);
    if (*e.message == '\0') {
      EXPECT_EQ(said, "") << e.to;
    } else {
      EXPECT_NE(said.find(before + e.message), std::string::npos) << e.to << ": " << said;
    }
  }
}

TEST(settings, mistakes_are_told_where_they_stand) {
  const edit edits[] = {
      {"threshold = 25.0", "treshold = 25.0", "7:1: photons.treshold is not a key; did you mean"},
      {"[clusters]", "[cluster]", "2:2: cluster is not a key; did you mean clusters?"},
      {"threshold = 25.0", "zzzzzz = 25.0", "7:1: photons.zzzzzz is not a key; there are thresh"},
      {"\"four_clusters\"", "\"muon\"", "25:28: there is no trigger bit \"muon\"; there are two_"},
      {"\"four_clusters\"", "\"for_clusters\"", "did you mean four_clusters?"},
      {"crystal_threshold = 4.0", "crystal_threshold = -4.0",
       "3:21: clusters.crystal_threshold"
       " = -4.0 is not above 0"},
      {"crystal_threshold = 4.0", "crystal_threshold = \"4\"", "= \"4\" is not a number"},
      {"threshold = 25.0", "threshold = nan", "7:13: photons.threshold = nan is not a number"},
      {"threshold = 25.0", "threshold = -1.0", "= -1.0 is out of range 0..2e+06"},
      {"threshold = 7.5", "threshold = 0.0", "18:13: counter.threshold = 0.0 is not above 0"},
      {"[-3.0, 4.0]", "[4.0, -3.0]", "19:10: counter.window = [4.0, -3.0] must rise; write [fr"},
      {"[-20.0, 25.0]", "[-20.0, 2500.0]", "[-20.0, 2500.0] is out of range -512..512"},
      {"crystal_window = [-20.0, 25.0]", "event_window = [-200.0, 100.0]",
       "4:16: clusters.event_window = [-200.0, 100.0] is more than 256 ns wide; narrow it"},
      {"neighbour_distance = 60.0", "neighbour_distance = 1e6", "is out of range 0..1000"},
      {"energy_scale = 1.02", "energy_scale = 0.0", "is out of range 0.1..10"},
      {"[75.0, 22.5]", "[20.5, 22.5]", "must rise, by at least 1 MeV from pair to pair"},
      {"[75.0, 22.5]", "75.0", "is not a list of pairs of numbers: [[1.0, 2.0], …]"},
      {"threshold_factor = 3.0", "threshold_factor = 0", "vetoes.threshold_factor = 0 is not ab"},
      {"within = 9.0\n", "", "16:1: counter.within and neighbours must be set together"},
      {"\"refuse\"", "\"maybe\"", "is not one of \"ignore\", \"keep\", \"refuse\""},
      {"vetoes = \"all\"", "vetoes = \"al\"", "is neither \"all\" nor a list of counters"},
      {"priority = 9", "priority = 256", "34:12: line.priority = 256 is out of range 0..255"},
      {"prescale = 7", "prescale = 0", "line.prescale = 0 is out of range 1..1000000000"},
      {"name = \"second\"", "name = \"se cond\"", "may contain only letters, digits"},
      {"\"second\"", "\"first\"", "36:8: there is already a line \"first\"; give each its"},
      {"[[line]]", "[[counter]]\nname = \"BHPV\"\n[[line]]", "already a counter \"BHPV\""},
      {"sequence = [\"a\", \"b\"]", "sequence = []", "must name at least one algorithm"},
      {"[[counter]]", "[counter]", "counter = {…} is not a list of tables; write [[counter]]"},
      {"photons = 2", "photons = = 2", "27:11"},
  };
  expect_said(sample, edits, "");
  const edit payloads[] = {
      {"\"suppressed\"", "\"most\"",
       "\"most\" is not one of \"all\", \"suppressed\", \"features\""},
      {"payload = \"suppressed\"\n", "", "line.control"},
      {"control = 20", "control = 0", "line.control"},
      {"seed_sigma = 30.0", "seed_sigma = 4.0", "suppression.seed_sigma"},
      {"kept_neighbours = 2", "kept_neighbours = 4", "counter.kept_neighbours"},
  };
  expect_said(limiting, payloads);
}

TEST(settings, a_range_that_no_event_can_meet_is_refused) {
  const edit edits[] = {
      {"[500.0, inf]", "[500.0, 400.0]",
       "the range must rise; write [from, to], inf for an open end"},
      {"[500.0, inf]", "[500.0, nan]", "the range must rise"},
      {"[500.0, inf]", "[-5.0, -1.0]", "the quantity lies within 0 to inf"},
      {"photons = 2\n", "photons = [65, inf]\n", "the quantity lies within 0 to 64"},
      {"[500.0, inf]", "[inf, inf]", "an event holds it in 32 bits, up to 2.14748e+06"},
      {"[-inf, 5000.0]", "[-inf, -inf]", "an event holds it in 32 bits, up to 2.14748e+08"},
      {"[500.0, inf]", "[500.0002, 500.0008]", "an event holds it in steps of 0.001, and no step"},
      {"photons = 2\n", "photons = 2.5\n", "an event holds it in steps of 1, and no step"},
      {"photons = 2\n", "photons = [2.4, 2.6]\n", "an event holds it in steps of 1"},
  };
  expect_said(sample, edits, "can never be met: ");
  // Those that only touch can be met.
  const edit right[] = {{"[500.0, inf]", "[500.0005, 500.0011]", ""},
                        {"photons = 2\n", "photons = [1, 64]\n", ""}};
  expect_said(sample, right);
}

TEST(settings, a_line_that_can_never_fire_is_refused) {
  const edit edits[] = {
      {"photons = 2\n", "photons = 3\n", "events with so many photons have no vertex_z"},
      {"fired = [\"CV front\"]", "fired = [\"CBAR\"]", "counter \"CBAR\" must have fired and must"},
      {"not_trigger = [\"led\"]", "not_trigger = [\"led\", \"two_clusters\"]",
       "it requires and refuses the trigger bit \"two_clusters\"; remove it from trigger or"},
  };
  expect_said(sample, edits, "line \"first\" can never fire: ");
}

TEST(settings, lines_for_overfull_events_ask_for_nothing_that_such_events_lack) {
  const auto s = parse_selection("[[line]]\nname = \"a\"\noverfull = true\n"
                                 "[[line]]\nname = \"b\"\n",
                                 "s.toml");
  EXPECT_TRUE(s.lines[0].overfull);
  EXPECT_FALSE(s.lines[1].overfull);
  for (const std::string condition :
       {"vetoes = \"all\"", "vetoes = [\"CBAR\"]", "fired = [\"CBAR\"]", "photons = 2"})
    EXPECT_NE(
        refusal(sample, "vetoes = \"all\"\nundecodable = true", condition + "\noverfull = true")
            .find("an overfull event has no quantities and no counters"),
        std::string::npos);
}

TEST(settings, there_are_lines_but_not_too_many) {
  EXPECT_EQ(refusal(""), "s.toml: there is no line, so nothing would be kept; add a [[line]]");
  std::string lines;
  for (std::uint32_t i = 0; i < max_lines; ++i)
    lines += "[[line]]\nname = \"l" + std::to_string(i) + "\"\n";
  EXPECT_EQ(refusal(lines), "");
  EXPECT_EQ(refusal(lines + "[[line]]\nname = \"more\"\n"),
            "s.toml:66:8: there are 33 lines; leave at most 32");

  std::string ranges = "[[line]]\nname = \"l\"\n";
  for (std::uint32_t i = 0; i < line_entry::max_ranges; ++i)
    ranges += std::string(name_of(static_cast<quantity>(i))) + " = [0, inf]\n";
  EXPECT_EQ(refusal(ranges), "");
  EXPECT_EQ(refusal(ranges + "transverse_momentum = [0, inf]\n"),
            "s.toml:15:23: line \"l\" has 13 ranges; leave at most 12");
}

TEST(settings, all_mistakes_are_told_at_once) {
  std::string text = sample;
  text.replace(text.find("25.0]"), 5, "-25.0]");
  text.replace(text.find("threshold = 7.5"), 15, "threshold = -7.5");
  text.replace(text.find("priority = 9"), 12, "prioriti = 9");
  const std::string what = refusal(text);
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 2);
  EXPECT_NE(what.find("s.toml:4:18: clusters.crystal_window = [-20.0, -25.0] must rise"),
            std::string::npos);
  EXPECT_NE(what.find("s.toml:18:13: counter.threshold = -7.5 is not above 0"), std::string::npos);
  EXPECT_NE(what.find("s.toml:34:1: line.prioriti is not a key; did you mean priority?"),
            std::string::npos);
}

TEST(settings, every_quantity_has_a_unit_and_a_name) {
  for (std::uint32_t i = 0; i < quantities; ++i) {
    const auto q = static_cast<quantity>(i);
    EXPECT_LT(unit_of(q).least, unit_of(q).most) << name_of(q);
    EXPECT_NE(name_of(q), "") << "quantity " << i;
  }
}

} // namespace
