// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "selection/detector/calibration.hpp"
#include "tests/error_of.hpp"

namespace {

using namespace l3;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

const std::string header = "input,gain,time,threshold,dead\n";

std::string refusal(const std::string& text) {
  return error_of([&] { return calibration_of_run(text, "c.csv", koto(), 150); });
}

TEST(calibration, times_of_a_counter_hold_the_flight_to_it_and_its_cables) {
  detector d(readout::koto());
  veto v;
  v.name = "far";
  v.modules = 4;
  v.counts_per_unit = 30;
  v.t0 = 8.5;
  v.delay = -24;
  v.inputs = d.run_of_inputs({14, 3, 0}, 4);
  d.add_veto(v);
  const auto c = nominal_calibration(d);
  for (const input_address at : v.inputs) EXPECT_EQ(c[d.number_of(at)].time, 8.5 - 24);
}

TEST(calibration, dead_inputs_of_the_detector_are_dead) {
  auto d = default_detector();
  d.kill({0, 3, 7});
  d.kill({12, 3, 1});
  const auto c = nominal_calibration(d);
  EXPECT_TRUE(c[d.number_of({0, 3, 7})].dead);
  EXPECT_TRUE(c[d.number_of({12, 3, 1})].dead);
  EXPECT_FALSE(c[d.number_of({12, 3, 0})].dead);
}

TEST(calibration, a_file_changes_what_it_names) {
  const auto nominal = nominal_calibration(koto());
  const auto c = calibration_of_run("# run 87\n" + header +
                                        "0/3/7, 0.09, -2.5, 12, 0\r\n\n12/3/1,,,,1\n0/3/8,,4.0,,\n",
                                    "c.csv", koto(), 1)
                     .inputs;
  const auto first = koto().number_of({0, 3, 7});
  EXPECT_EQ(c[first].gain, 0.09);
  EXPECT_EQ(c[first].time, -2.5);
  EXPECT_EQ(c[first].least_height, 12U);
  EXPECT_FALSE(c[first].dead);
  const auto dead = koto().number_of({12, 3, 1});
  EXPECT_TRUE(c[dead].dead);
  EXPECT_EQ(c[dead].gain, nominal[dead].gain);
  const auto shifted = koto().number_of({0, 3, 8});
  EXPECT_EQ(c[shifted].time, 4.0);
  EXPECT_EQ(c[shifted].gain, nominal[shifted].gain);
  EXPECT_EQ(c[shifted].least_height, nominal[shifted].least_height);
  const auto other = koto().number_of({0, 3, 9});
  EXPECT_EQ(c[other].gain, nominal[other].gain);
  EXPECT_EQ(c[other].time, nominal[other].time);
}

const std::string no_header =
    "the table must begin with its header; write input,gain,time,threshold,dead, or "
    "input,gain,time,threshold,dead,pedestal,noise, either with \"runs,\" in front for values that "
    "hold for some runs only";

const std::string by_run = "runs,input,gain,time,threshold,dead\n";

TEST(calibration, holds_for_the_runs_that_a_line_names) {
  const std::string good = by_run + "100-199,0/3/7,0.09,,,\n200-,0/3/7,0.08,,,\n99,0/3/7,0.07,,,\n"
                                    ",0/3/8,,4.0,,\n";
  const auto input = koto().number_of({0, 3, 7});
  const auto gain = [&](std::uint32_t run) {
    return calibration_of_run(good, "c.csv", koto(), run).inputs[input].gain;
  };
  EXPECT_EQ(gain(99), 0.07);
  EXPECT_EQ(gain(100), 0.09);
  EXPECT_EQ(gain(199), 0.09);
  EXPECT_EQ(gain(200), 0.08);
  EXPECT_EQ(gain(0xffffffff), 0.08);
  const auto of_150 = calibration_of_run(good, "c.csv", koto(), 150);
  EXPECT_EQ(of_150.in_force, header + "0/3/7,0.09,,,\n0/3/8,,4.0,,\n");
  const auto again = calibration_of_run(of_150.in_force, "c.csv", koto(), 7);
  for (std::size_t n = 0; n < again.inputs.size(); ++n) {
    EXPECT_EQ(again.inputs[n].gain, of_150.inputs[n].gain);
    EXPECT_EQ(again.inputs[n].time, of_150.inputs[n].time);
  }
}

const std::string levels = "input,gain,time,threshold,dead,pedestal,noise\n";

TEST(calibration, has_pedestal_and_noise_if_the_header_names_them) {
  const auto nominal = nominal_calibration(koto());
  const auto other = koto().number_of({0, 3, 8});
  const std::string table =
      "runs," + levels + "100-199,0/3/7,,,,,510,2.5\n200-,0/3/7,,,,,520,2.25\n,0/3/8,0.5,,,,,\n";
  const auto input = koto().number_of({0, 3, 7});
  const auto of_250 = calibration_of_run(table, "c.csv", koto(), 250);
  EXPECT_EQ(of_250.inputs[input].pedestal, 520);
  EXPECT_EQ(of_250.inputs[input].noise, 2.25);
  EXPECT_EQ(of_250.inputs[input].gain, nominal[input].gain);
  EXPECT_EQ(of_250.inputs[other].pedestal, nominal[other].pedestal);
  EXPECT_EQ(of_250.inputs[other].noise, nominal[other].noise);
  EXPECT_EQ(of_250.inputs[other].gain, 0.5);
  // The levels that were in force come back from what the stream records.
  EXPECT_EQ(of_250.in_force, levels + "0/3/7,,,,,520,2.25\n0/3/8,0.5,,,,,\n");
  const auto again = calibration_of_run(of_250.in_force, "c.csv", koto(), 250);
  EXPECT_EQ(again.inputs[input].pedestal, 520);
  EXPECT_EQ(again.inputs[input].noise, 2.25);
}

/// A table and what is said of it; nothing if it is taken.
TEST(calibration, mistakes_are_told_where_they_stand) {
  const std::pair<std::string, std::string> cases[] = {
      {header + "0/3/7,0.09,0,5,0", ""},
      {"\xef\xbb\xbf" + header + "0/3/7,0.09,0,5,0", ""}, // a byte order mark
      {"0/3/7,0.09,0,5,0\n", "c.csv:1:1: " + no_header},
      {"", "c.csv: " + no_header},
      {"input,gain,time,threshold,dead,pedestal\n", "c.csv:1:1: " + no_header},
      {header + "0/3,1,,,",
       ":2:1: \"0/3\" is not an input; write crate/slot/channel, such as 0/3/7"},
      {header + "0/3/7/1,1,,,", ":2:1: \"0/3/7/1\" is not an input;"},
      {header + "0/3/300,1,,,", ":2:1: \"0/3/300\" is not an input;"},
      {header + "0/2/7,1,,,", ":2:1: the readout has no input 0/2/7; correct or remove it"},
      {header + "10/18/15,1,,,", ":2:1: input 10/18/15 is not connected; correct or remove it"},
      {header + "0/3/7,1,,,\n0/3/8,1,,,\n0/3/7,1,,,\n", ":4:1: input 0/3/7 already has line 2"},
      {header + "0/3/7,0.1x,,,", ":2:7: gain \"0.1x\" is not a number; write one such as 0.085"},
      {header + "0/3/7,nan,,,", ":2:7: gain \"nan\" is not a number"},
      {header + "0/3/7,11,,,", ":2:7: gain 11 is out of range 0..10"},
      {header + "0/3/7,,-201,,", ":2:8: time -201 is out of range -200..200"},
      {header + "0/3/7,,,-1,", ":2:9: threshold -1 is out of range 0..15483"},
      {header + "0/3/7,,,15484,", ":2:9: threshold 15484 is out of range 0..15483"},
      {header + "15/3/0,,,3196,", ":2:10: threshold 3196 is out of range 0..3195"},
      {header + "15/3/0,,,3195,", ""},
      {header + "0/3/7,,,12.5,", ":2:9: threshold must be a whole number of counts"},
      {header + "0/3/7,,,,0.5", ":2:10: dead must be 0 or 1"},
      {header + "0/3/7,1,1", ":2:1: a line has 5 fields, this one 3; leave a field empty to keep"},
      {levels + "0/3/7,0.09,,,\n", ":2:1: a line has 7 fields, this one 5"},
      {levels + "0/3/7,,,,,,-1\n", ":2:12: noise -1 is out of range 0..100"},
      // All mistakes at once.
      {header + "0/3/7,0,,,\n0/3/8,1,,,\n0/2/7,1,,,\n",
       ":2:7: gain must be 0.0001 or more; mark an input without signal as dead\n"
       "c.csv:4:1: the readout has no input 0/2/7"},
      {by_run + "-,0/3/6,0.5,,,\n",
       ":2:1: \"-\" is not a range of runs; write one such as 100-199"},
      {by_run + "100-149,0/3/7,0.09,,,\n200-,0/3/8,0.08,,,\n",
       "the table is for the runs 100-149, 200-, but this is run 150; add lines for it"},
      {by_run + "100-199,0/3/7,0.09,,,\n200-,0/3/8,0.08,,,\n10,0/3/8,0.1,,,\n",
       ":3:6: input 0/3/8 has lines for the runs 200-, 10 but not for run 150; add one"},
      {by_run + "100-199,0/3/7,0.09,,,\n199-,0/3/7,0.08,,,\n",
       ":3:6: input 0/3/7 already has line 2, for the runs 100-199; remove one"},
      {by_run + "199-100,0/3/7,0.09,,,\n", ":2:1: the runs 199-100 end before they begin"},
      {by_run + "150,0/3/7,inf,,,\n", ":2:11: gain \"inf\" is not a number"},
      {by_run + "0/3/7,0.09,,,\n", ":2:1: a line has 6 fields, this one 5"},
  };
  for (const auto& [text, message] : cases) {
    const std::string said = refusal(text);
    EXPECT_TRUE(message.empty() ? said.empty() : said.find(message) != said.npos) << text << said;
  }
}

} // namespace
