// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "selection/detector/detector.hpp"
#include "tests/error_of.hpp"

namespace {

using namespace l3;

TEST(detector, default_has_the_crystals_of_koto) {
  const auto d = default_detector();
  const auto small = std::count_if(d.crystals().begin(), d.crystals().end(),
                                   [](const crystal& c) { return c.size == 25; });
  EXPECT_EQ(small, 2240);
  EXPECT_EQ(static_cast<long>(d.crystals().size()) - small, 476);
  std::set<std::pair<double, double>> places;
  for (const auto& c : d.crystals()) {
    EXPECT_TRUE(places.emplace(c.x, c.y).second) << "another stands there";
    EXPECT_LE(c.at.crate, 10);
    if (c.size == 25) {
      EXPECT_LE(std::max(std::abs(c.x), std::abs(c.y)), 587.5);
      EXPECT_GE(std::max(std::abs(c.x), std::abs(c.y)), 112.5);
    } else {
      EXPECT_GE(std::max(std::abs(c.x), std::abs(c.y)), 625);
      EXPECT_LE(c.x * c.x + c.y * c.y, 918.0 * 918.0);
    }
  }
}

const char* const minimal = R"(dead = ["0/3/1"]
[calorimeter]
first = "0/3/0"
front = 6148.0
small_size = 25.0
small_columns = 8
small_hole_columns = 0
small_tile_columns = 4
small_counts_per_mev = 10.0
large_size = 50.0
large_radius = 120.0
large_counts_per_mev = 8.0
accidental_rate = 0.0
hole_distance = 0.0
hole_accidental_factor = 1.0
[trigger]
board = "14/15"
[signals]
noise_typical = 2.4
noise_range = [1.0, 6.0]
pedestal_range = [300.0, 900.0]
time_offset = 5.0
pulse_time = 204.0
attenuation_length = 2700.0
light_speed = 181.0
seed = 1
[[veto]]
name = "A"
modules = 4
ends = 2
first = "14/3/0"
threshold = 1.0
window = [-15.0, 40.0]
counts_per_unit = 30.0
[[veto]]
name = "B"
modules = 2
first = "15/18/0"
threshold = 1.0
window = [-15.0, 40.0]
counts_per_unit = 30.0
)";

TEST(detector, is_read_with_its_dead_inputs_for_the_crates_that_are_read_out) {
  readout other = readout::koto();
  other.crates.pop_back();
  const auto d = parse_detector(minimal, "d.toml", other);
  EXPECT_EQ(d.crates(), other);
  EXPECT_FALSE(d.crystals()[0].dead);
  EXPECT_TRUE(d.crystals()[1].dead);
  other.crates.resize(15);
  EXPECT_EQ(error_of([&] { return parse_detector(minimal, "d.toml", other); }),
            "d.toml:38:9: the readout has no input 15/18/0");
}

/// An edit of the minimal description, of veto B where a key stands in both, and the complaint.
const std::array<const char*, 3> refusals[] = {
    {"\"A\"", "\"A\"", ""},
    {"counts_per_unit = 30.0", "counts_per_unit = 30.0\ndelay = -76.2", ""},
    {"first = \"15/18/0\"", "first = \"14/3/7\"",
     "38:9: input 14/3/7 of B module 0 is already connected to A module 3 end 1"},
    {"first = \"15/18/0\"", "first = \"17/18/3\"",
     "38:9: 2 inputs from 17/18/3 on do not fit: the last of their kind is 17/18/3"},
    {"first = \"14/3/0\"", "first = \"0/3/9\"",
     "31:9: input 0/3/9 of A module 0 end 0 is already connected to crystal 9"},
    {"dead = [\"0/3/1\"]", "dead = [\"10/3/1\"]", "1:9: input 10/3/1 is not connected"},
    {"dead = [\"0/3/1\"]", "dead = [\"x\"]", "1:9: dead = \"x\" is not \"crate/slot/channel\""},
    {"dead = [\"0/3/1\"]", "dead = \"0/3/1\"",
     "1:8: dead = \"0/3/1\" is not a list of texts in quotes"},
    {"\"14/15\"", "\"14/19\"", "17:9: the readout has no board 14/19"},
    {"seed = 1", "sed = 1",
     "18:1: signals.seed is missing\nd.toml:26:1: signals.sed is not a key; did you mean seed?"},
    {"ends = 2", "ends = 3", "30:8: veto.ends = 3 is out of range 1..2"},
    {"ends = 2", "ends = 2\nlength = 60000.0",
     "31:10: veto.length = 60000.0 is more than 20 times signals.attenuation_length; correct one "
     "of the two"},
    {"name = \"B\"", "name = \"A\"",
     "36:8: veto.name = \"A\" is already used; give each veto its own"},
    {"threshold = 1.0", "threshold = 0.0", "39:13: veto.threshold = 0.0 is not above 0"},
    {"[-15.0, 40.0]", "[40.0, 40.0]",
     "40:10: veto.window = [40.0, 40.0] must rise; write [from, to] in ns, such as [-15.0, 15.0]"},
    {"[-15.0, 40.0]", "[-15.0, inf]",
     "40:10: veto.window = [-15.0, inf] is out of range -512..512"},
    {"[-15.0, 40.0]", "[310.0, 320.0]",
     "40:10: veto.window = [310.0, 320.0] contains no pulse: pulses are searched from -204 to 308 "
     "ns; "
     "choose a window that overlaps that"},
    {"counts_per_unit = 30.0", "counts_per_unit = 30.0\nt0 = 20.0\ndelay = 400",
     "40:10: veto.window = [-15.0, 40.0] contains no pulse: pulses are searched from -624 to -112 "
     "ns; "
     "choose a window that overlaps that"},
    {"counts_per_unit = 30.0", "counts_per_unit = 30.0\nwall = [0, inf, 0]",
     "42:8: veto.wall = [0, inf, 0] must stay within 100000 mm"},
    {"first = \"0/3/0\"", "first = \"15/3/0\"",
     "3:9: calorimeter.first = \"15/3/0\" is at 500 MHz, but crystals need 125 MHz; choose a crate "
     "at 125 MHz"},
    // What would overflow.
    {"threshold = 1.0", "threshold = 1e9", "39:13: veto.threshold = 1000000000.0 is out of range"},
    {"counts_per_unit = 30.0", "counts_per_unit = 0.01", "41:19: veto.counts_per_unit = 0.01 is"},
    {"pulse_time = 204.0", "pulse_time = 1e9", "23:14: signals.pulse_time = 1000000000.0 is out"},
    {"[300.0, 900.0]", "[300.0, 4095.0]", "21:18: signals.pedestal_range = [300.0, 4095.0] is out"},
    {"time_offset = 5.0", "time_offset = -5.0", "22:15: signals.time_offset = -5.0 is out of"},
    {"light_speed = 181.0", "light_speed = 1e7", "25:15: signals.light_speed = 10000000.0 is out"},
    {"small_counts_per_mev = 10.0", "small_counts_per_mev = 1e-9",
     "9:24: calorimeter.small_counts_per_mev = 1e-09 is out of range 0.1..16383"},
    {"large_size = 50.0", "large_size = 1e-9", "10:14: calorimeter.large_size = 1e-09 is out of"}};

TEST(detector, errors_say_where_and_what) {
  for (const auto& [from, to, complaint] : refusals) {
    std::string text = minimal;
    const auto at = text.rfind(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    const std::string error = error_of([&] { return parse_detector(text, "d.toml"); });
    if (*complaint == 0) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_TRUE(error.starts_with("d.toml:" + std::string(complaint))) << error;
    }
  }
}

} // namespace
