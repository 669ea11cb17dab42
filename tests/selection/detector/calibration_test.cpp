// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "selection/detector/calibration.hpp"
#include "selection/detector/input_constants.hpp"

namespace {

using namespace l3;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

const std::string header = "input,gain,time,threshold,dead\n";

std::string refusal(const std::string& text) {
  try {
    (void)parse_calibration(text, "c.csv", koto());
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(calibration, nominal_one_follows_from_the_detector) {
  const auto c = nominal_calibration(koto());
  ASSERT_EQ(c.size(), koto().input_count());
  const auto crystal = koto().number_of({0, 3, 0});
  EXPECT_DOUBLE_EQ(c[crystal].gain, 1 / 11.8);
  // Four times the noise of this input, and never below 5 counts.
  const double noise = draw_input_constants(koto())[crystal].noise;
  EXPECT_EQ(c[crystal].least_height, static_cast<std::uint32_t>(std::ceil(4 * noise)));
  for (const auto& channel : c) EXPECT_GE(channel.least_height, channel.dead ? 0U : 5U);
  EXPECT_FALSE(c[crystal].dead);
  const auto cbar = koto().number_of({12, 3, 0});
  EXPECT_DOUBLE_EQ(c[cbar].gain, 1 / 30.0);
  const auto nothing = koto().number_of({10, 18, 15});
  EXPECT_TRUE(c[nothing].dead);
  EXPECT_EQ(c[nothing].gain, 0);
}

TEST(calibration, nominal_times_are_those_drawn_for_the_inputs_and_the_counters_own) {
  const auto c = nominal_calibration(koto());
  const auto drawn = draw_input_constants(koto());
  double squares = 0;
  for (std::size_t n = 0; n < c.size(); ++n) {
    const auto& e = koto().at(static_cast<std::uint32_t>(n));
    const double t0 = e.what == element::kind::veto ? koto().vetoes()[e.index].t0 : 0;
    EXPECT_EQ(c[n].time, drawn[n].time + t0);
    squares += drawn[n].time * drawn[n].time;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(c.size())), 5.0, 0.2);
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
  const auto c = parse_calibration("# run 87\n" + header +
                                       "0/3/7, 0.09, -2.5, 12, 0\r\n\n12/3/1,,,,1\n0/3/8,,4.0,,\n",
                                   "c.csv", koto());
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

TEST(calibration, errors_say_where_what_and_what_to_do) {
  EXPECT_EQ(refusal(header + "0/3/7,0.09,0,5,0"), "");
  EXPECT_EQ(refusal("0/3/7,0.09,0,5,0\n"),
            "c.csv:1: the table must begin with its header; write input,gain,time,threshold,dead");
  EXPECT_EQ(refusal(""),
            "c.csv:1: the table must begin with its header; write input,gain,time,threshold,dead");
  EXPECT_EQ(refusal(header + "0/3,1,,,"),
            "c.csv:2: \"0/3\" is no input; write crate/slot/channel, such as 0/3/7");
  EXPECT_EQ(refusal(header + "0/3/7/1,1,,,").substr(0, 31), "c.csv:2: \"0/3/7/1\" is no input;");
  EXPECT_EQ(refusal(header + "0/3/300,1,,,").substr(0, 31), "c.csv:2: \"0/3/300\" is no input;");
  EXPECT_EQ(refusal(header + "0/2/7,1,,,"),
            "c.csv:2: the readout has no input 0/2/7; correct it or leave it out");
  EXPECT_EQ(refusal(header + "10/18/15,1,,,"),
            "c.csv:2: input 10/18/15 carries nothing; correct it or leave it out");
  EXPECT_EQ(refusal(header + "0/3/7,1,,,\n0/3/8,1,,,\n0/3/7,1,,,\n"),
            "c.csv:4: input 0/3/7 stands in the table twice; leave one line");
  EXPECT_EQ(refusal(header + "0/3/7,0.1x,,,"),
            "c.csv:2: gain \"0.1x\" is not a number; write one such as 0.085");
  EXPECT_EQ(refusal(header + "0/3/7,nan,,,"), "c.csv:2: gain nan is out of range 0..10");
  EXPECT_EQ(refusal(header + "0/3/7,11,,,"), "c.csv:2: gain 11 is out of range 0..10");
  EXPECT_EQ(refusal(header + "0/3/7,0,,,"),
            "c.csv:2: gain must be 0.0001 or more; mark an input without signal as dead");
  EXPECT_EQ(refusal(header + "0/3/7,,-201,,"), "c.csv:2: time -201 is out of range -200..200");
  EXPECT_EQ(refusal(header + "0/3/7,,,-1,"), "c.csv:2: threshold -1 is out of range 0..15483");
  EXPECT_EQ(refusal(header + "0/3/7,,,15484,"),
            "c.csv:2: threshold 15484 is out of range 0..15483");
  EXPECT_EQ(refusal(header + "15/3/0,,,3196,"), "c.csv:2: threshold 3196 is out of range 0..3195");
  EXPECT_EQ(refusal(header + "15/3/0,,,3195,"), "");
  EXPECT_EQ(refusal(header + "0/3/7,,,12.5,"),
            "c.csv:2: threshold must be a whole number of counts");
  EXPECT_EQ(refusal(header + "0/3/7,,,,0.5"), "c.csv:2: dead must be 0 or 1");
  EXPECT_EQ(refusal(header + "0/3/7,1,1"),
            "c.csv:2: a line has 5 fields, this one 3; leave a field empty to keep its nominal "
            "value");
  EXPECT_EQ(refusal(header + "0/3/7,1,1,1,1,1").substr(0, 42),
            "c.csv:2: a line has 5 fields, this one 6; ");
}

TEST(calibration, all_mistakes_are_told_at_once) {
  EXPECT_EQ(refusal(header + "0/3/7,0,,,\n0/3/8,1,,,\n0/2/7,1,,,\n"),
            "c.csv:2: gain must be 0.0001 or more; mark an input without signal as dead\n"
            "c.csv:4: the readout has no input 0/2/7; correct it or leave it out");
}

TEST(calibration, a_file_that_is_not_there_is_named) {
  EXPECT_THROW((void)read_calibration("no/such/file.csv", koto()), std::runtime_error);
}

} // namespace
