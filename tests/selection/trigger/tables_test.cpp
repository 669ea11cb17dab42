// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "config/toml/value.hpp"
#include "selection/detector/pulse_response.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tests/error_of.hpp"

namespace {

using namespace l3;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

// All inputs alike, so that numbers can be checked by hand.
calibration without_offsets(const detector& d) {
  auto c = nominal_calibration(d);
  for (auto& input : c) input.time = 0;
  return c;
}

host_tables tables_of(const std::string& text) {
  return make_tables(koto(), without_offsets(koto()), parse_selection(text, "s.toml"), 7);
}

const std::string one_line = "[[line]]\nname = \"x\"\n";

std::string refusal(const std::string& text) {
  return error_of([&] { return tables_of(text); });
}

std::size_t veto_named(const std::string& name) {
  const auto& all = koto().vetoes();
  return static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(), [&](const veto& v) { return v.name == name; }) -
      all.begin());
}

const input_entry& input(const host_tables& t, input_address at) {
  return t.inputs[koto().number_of(at)];
}

TEST(tables, cuts_are_in_the_units_of_events) {
  const auto k = tables_of("[clusters]\ncrystal_threshold = 3.5\nevent_window = [-50.0, 60.0]\n"
                           "crystal_window = [-30.0, 20.0]\n"
                           "[photons]\nthreshold = 20.0\nwindow = [-15.0, 10.0]\n"
                           "energy_scale = 1.5\nenergy_correction = [[20.0, -2.0], [90.0, 8.5]]\n" +
                           one_line)
                     .constants;
  EXPECT_EQ(k.run, 7U);
  EXPECT_EQ(k.crystal_threshold, 3500);
  EXPECT_EQ(k.event_from, -6400);
  EXPECT_EQ(k.event_to, 7680);
  EXPECT_EQ(k.crystal_from, -3840);
  EXPECT_EQ(k.crystal_to, 2560);
  EXPECT_EQ(k.photon_threshold, 20000);
  EXPECT_EQ(k.photon_from, -1920);
  EXPECT_EQ(k.photon_to, 1280);
  EXPECT_EQ(k.photon_scale, 3 << 15);
  EXPECT_EQ(k.correction_points, 2U);
  EXPECT_EQ(k.correction[0].energy, 20000);
  EXPECT_EQ(k.correction[0].lacking, -2000);
  EXPECT_EQ(k.correction[1].energy, 90000);
  EXPECT_EQ(k.correction[1].lacking, 8500);
  EXPECT_EQ(k.front, 61480);
  EXPECT_EQ(k.trigger_board, 14 * 16 - 4 + 12); // crate 11 has four boards less
  EXPECT_EQ(k.vetoes, 18);
  EXPECT_EQ(k.lines, 1);
}

TEST(tables, a_late_input_counts_from_later_on) {
  auto c = without_offsets(koto());
  const auto settings = parse_selection(one_line, "s.toml");
  const auto before = make_tables(koto(), c, settings, 1);
  const auto n = koto().number_of({0, 3, 7});
  c[n].time = 2.5;
  c[n].gain *= 2;
  const auto after = make_tables(koto(), c, settings, 1);
  EXPECT_EQ(after.inputs[n].time - before.inputs[n].time, 320);
  EXPECT_NEAR(after.inputs[n].gain, 2 * before.inputs[n].gain, 1);
  EXPECT_EQ(after.inputs[n + 1].time, before.inputs[n + 1].time);
}

TEST(tables, pulses_are_looked_at_from_half_their_threshold_on) {
  auto quiet = without_offsets(koto());
  for (auto& channel : quiet) channel.least_height = 5;
  const auto of = [&](const std::string& text) {
    return make_tables(koto(), quiet, parse_selection(text, "s.toml"), 1);
  };
  const auto t =
      of("[clusters]\ncrystal_threshold = 3.0\n[vetoes]\nthreshold_factor = 2.0\n" + one_line);
  EXPECT_EQ(input(t, {0, 3, 0}).least_height, 17);   // 1.5 MeV × 11.8
  EXPECT_EQ(input(t, {8, 14, 15}).least_height, 17); // the last small one
  EXPECT_EQ(input(t, {8, 15, 0}).least_height, 12);  // a large one: 1.5 MeV × 8
  EXPECT_EQ(input(t, {11, 3, 0}).least_height, 30);  // 2 MeV: 1 MeV × 30
  EXPECT_EQ(input(t, {12, 3, 0}).least_height, 15);  // half of that at each end
  // Never below what is noise.
  const auto low = of("[clusters]\ncrystal_threshold = 0.1\n" + one_line);
  EXPECT_EQ(input(low, {0, 3, 0}).least_height, 5);
}

TEST(tables, dead_inputs_carry_nothing) {
  auto c = without_offsets(koto());
  const auto& cbar = koto().vetoes()[veto_named("CBAR")];
  c[koto().number_of(cbar.inputs[2 * 3 + 1])].dead = true;
  c[koto().number_of({0, 3, 7})].dead = true;
  const auto t = make_tables(koto(), c, parse_selection(one_line, "s.toml"), 7);
  EXPECT_EQ(t.modules[t.vetoes[veto_named("CBAR")].first_module + 3].alive, 1);
  for (const auto at : {cbar.inputs[2 * 3 + 1], input_address{0, 3, 7}, input_address{17, 18, 3}}) {
    EXPECT_EQ(input(t, at).kind, input_kind::none);
    EXPECT_EQ(input(t, at).least_height, 0xffff);
  }
  EXPECT_EQ(t.constants.dead_vetoes, 0U) << "one of CBAR's ends is no counter";
  for (const auto at : cbar.inputs) c[koto().number_of(at)].dead = true;
  EXPECT_EQ(make_tables(koto(), c, parse_selection(one_line, "s.toml"), 7).constants.dead_vetoes,
            1U << veto_named("CBAR"));
}

TEST(tables, vetoes_are_those_of_the_detector_unless_told_otherwise) {
  const auto t = tables_of("[vetoes]\nthreshold_factor = 3.0\nwindow_margin = 2.0\n"
                           "[[counter]]\nname = \"CC03\"\nthreshold = 5.0\nwindow = [-1.0, 2.0]\n"
                           "tolerance = 4.0\n"
                           "[[counter]]\nname = \"BHPV\"\nneighbours = 3\nwithin = 10.0\n" +
                           one_line);
  const auto& cbar = t.vetoes[veto_named("CBAR")];
  EXPECT_EQ(cbar.threshold, 3000);
  EXPECT_EQ(cbar.from, -13 * 128);
  EXPECT_EQ(cbar.to, 43 * 128);
  EXPECT_EQ(cbar.neighbours, 1);
  EXPECT_EQ(cbar.half_length, 2750);
  EXPECT_EQ(cbar.tolerance, std::lround((5500 / 181.0 + 5) * 128));
  // Light that arrives 30.39 ns later at the upstream end comes from the downstream one.
  const auto apart = static_cast<std::int64_t>(5500 / 181.0 * 128);
  EXPECT_NEAR(static_cast<double>(apart * cbar.z_of_time >> 16), 2750, 2);
  const auto& cc03 = t.vetoes[veto_named("CC03")];
  EXPECT_EQ(cc03.threshold, 5000);
  EXPECT_EQ(cc03.from, -128);
  EXPECT_EQ(cc03.to, 256);
  EXPECT_EQ(cc03.tolerance, 512);
  EXPECT_EQ(cc03.half_length, 0);
  EXPECT_EQ(cc03.z_of_time, 0);
  const auto& bhpv = t.vetoes[veto_named("BHPV")];
  EXPECT_EQ(bhpv.neighbours, 3);
  EXPECT_EQ(bhpv.within, 1280);
  EXPECT_EQ(bhpv.tolerance, 1280);
  EXPECT_EQ(t.vetoes[veto_named("FBAR")].tolerance, 0);
}

TEST(tables, attenuation_reaches_to_the_end_of_the_longest_module) {
  const auto t = tables_of(one_line);
  ASSERT_EQ(t.attenuation.size(), 2750U / 16 + 1);
  for (std::size_t i = 0; i < t.attenuation.size(); ++i) {
    const double z = 16.0 * static_cast<double>(i) + 8;
    EXPECT_NEAR(t.attenuation[i].grown, 65536 * std::exp(z / 2700), 1);
    EXPECT_NEAR(t.attenuation[i].shrunk, 65536 * std::exp(-z / 2700), 1);
  }
}

TEST(tables, lines_are_whole_numbers_and_bits) {
  const auto t = tables_of(R"([[line]]
name = "first"
trigger = ["two_clusters"]
not_trigger = ["led"]
photons = 2
photon_energy = [500.5, inf]
photon_inner = [150.0, inf]
photon_time_spread = [0.0, 4.0]
opening = [-1.0, -0.95]
vertex_z = [-inf, 5000.0]
vetoes = ["CBAR", "NCC single"]
fired = ["FBAR"]
when_unknown = "keep"
prescale = 7
priority = 9
[[line]]
name = "second"
vetoes = "all"
fired = ["CBAR"]
undecodable = true
[[line]]
name = "third"
overfull = true
)");
  ASSERT_EQ(t.lines.size(), 3U);
  const auto& first = t.lines[0];
  EXPECT_EQ(first.id, line_id("first"));
  EXPECT_EQ(first.trigger_any, trigger_two_clusters);
  EXPECT_EQ(first.trigger_none, trigger_led);
  EXPECT_EQ(first.vetoes_off, 1U << veto_named("CBAR") | 1U << veto_named("NCC single"));
  EXPECT_EQ(first.vetoes_on, 1U << veto_named("FBAR"));
  EXPECT_EQ(first.unknown, unknown_rule::keep);
  EXPECT_EQ(first.prescale, 7U);
  EXPECT_EQ(first.priority, 9);
  EXPECT_EQ(first.undecodable, 0);
  constexpr std::int32_t most = 0x7fffffff;
  const auto expect_range = [&](int i, quantity what, std::int32_t from, std::int32_t to) {
    EXPECT_EQ(first.range[i].what, what);
    EXPECT_EQ(first.range[i].from, from);
    EXPECT_EQ(first.range[i].to, to);
  };
  ASSERT_EQ(first.ranges, 6);
  expect_range(0, quantity::photons, 2, 2);
  expect_range(1, quantity::photon_energy, 500'500, most);
  expect_range(2, quantity::photon_inner, 1500, most);
  expect_range(3, quantity::photon_time_spread, 0, 512);
  expect_range(4, quantity::opening, -1000, -950);
  expect_range(5, quantity::vertex_z, -most, 50'000);
  EXPECT_GT(first.range[5].from, undefined_quantity);

  const auto& second = t.lines[1];
  EXPECT_EQ(second.vetoes_off, ((1U << 18) - 1) & ~(1U << veto_named("CBAR")));
  EXPECT_EQ(second.vetoes_on, 1U << veto_named("CBAR"));
  EXPECT_EQ(second.undecodable, 1);
  EXPECT_EQ(second.unknown, unknown_rule::ignore);
  EXPECT_EQ(second.prescale, 1U);
  EXPECT_EQ(second.priority, 100);
  EXPECT_EQ(second.overfull, 0);
  EXPECT_EQ(t.lines[2].overfull, 1);
  EXPECT_EQ(t.constants.overfull_lines, 1);
}

TEST(tables, the_settings_have_a_number_that_changes_with_every_cut) {
  const auto id = [](const std::string& text) { return tables_of(text).constants.settings; };
  const auto same = id(one_line);
  EXPECT_EQ(same, id("# remarks do not matter\n" + one_line));
  EXPECT_EQ(same,
            make_tables(koto(), without_offsets(koto()), parse_selection(one_line, "other.toml"), 8)
                .constants.settings);
  for (const std::string change :
       {"sequence = [\"decide\"]\n", "[clusters]\ncrystal_threshold = 3.001\n",
        "[clusters]\ncrystal_window = [-30.0, 31.0]\n",
        "[clusters]\nevent_window = [-30.0, 40.0]\n", "[clusters]\nevent_window = [-40.0, 30.0]\n",
        "[clusters]\nneighbour_distance = 80.0\n", "[photons]\nthreshold = 20.001\n",
        "[photons]\nwindow = [-15.1, 15.0]\n", "[photons]\nenergy_scale = 1.001\n",
        "[photons]\nenergy_correction = [[20.0, 0.001]]\n", "[vetoes]\nthreshold_factor = 2.01\n",
        "[vetoes]\nwindow_margin = 2.1\n", "[vetoes]\ntolerance = 10.1\n",
        "[vetoes]\ntolerance_margin = 5.1\n",
        "[[counter]]\nname = \"BHPV\"\nneighbours = 4\nwithin = 10.0\n"})
    EXPECT_NE(id(change + one_line), same) << change;
  for (const std::string change :
       {"prescale = 2\n", "priority = 1\n", "vetoes = \"all\"\n", "fired = [\"CBAR\"]\n",
        "trigger = [\"led\"]\n", "not_trigger = [\"led\"]\n", "undecodable = true\n",
        "overfull = true\n", "when_unknown = \"keep\"\n", "photons = 2\n", "crystals = 2\n",
        "payload = \"suppressed\"\n", "payload = \"features\"\n", "payload = \"summary\"\n"})
    EXPECT_NE(id(one_line + change), same) << change;
  const std::string limited = one_line + "payload = \"suppressed\"\n";
  for (const std::string change :
       {"control = 5\n", "[suppression]\nsigma = 5.1\n", "[suppression]\nseed_sigma = 41.0\n",
        "[suppression]\nneighbours = 2\n", "[suppression]\nexempt = [\"CBAR\"]\n",
        "[[counter]]\nname = \"CBAR\"\nkept_neighbours = 0\n"})
    EXPECT_NE(id(limited + change), id(limited)) << change;
  EXPECT_EQ(id(one_line + "[suppression]\nsigma = 5.1\n"), same) << "nothing is suppressed";
  EXPECT_NE(id("[[line]]\nname = \"y\"\n"), same);
  auto c = without_offsets(koto());
  c[0].dead = true;
  EXPECT_NE(make_tables(koto(), c, parse_selection(one_line, "s.toml"), 7).constants.settings,
            same);
  EXPECT_NE(make_tables(koto(), without_offsets(koto()), parse_selection(one_line, "s.toml"), 7,
                        selection_mode::record)
                .constants.settings,
            same);
}

TEST(tables, the_calorimeter_may_be_exempt) {
  const auto t = tables_of("[suppression]\nexempt = [\"calorimeter\"]\n" + one_line +
                           "payload = \"suppressed\"\n");
  const auto is_kept = [&](input_address at) {
    const auto& levels = t.levels[koto().number_of(at)];
    return levels.low > levels.high;
  };
  EXPECT_TRUE(is_kept(koto().crystals()[0].at));
  EXPECT_FALSE(is_kept(koto().vetoes()[veto_named("CBAR")].inputs[0]));
}

TEST(tables, limit_nothing_where_every_event_is_recorded) {
  const auto t =
      make_tables(koto(), without_offsets(koto()),
                  parse_selection(one_line + "payload = \"suppressed\"\ncontrol = 9\n", "s.toml"),
                  7, selection_mode::record);
  EXPECT_EQ(t.lines[0].payload, event_payload::all);
  EXPECT_EQ(t.lines[0].control, 0U);
  EXPECT_TRUE(t.packed_payloads.empty());
  EXPECT_TRUE(t.levels.empty());
}

TEST(tables, neighbours_are_crystals_that_touch_and_modules_side_by_side) {
  const auto kept_with = [](const std::string& text, input_address at) {
    const auto t = tables_of(text + one_line + "payload = \"suppressed\"\n");
    const std::uint32_t n = koto().number_of(at);
    return std::vector<std::uint16_t>(t.kept_with.begin() + t.levels[n].first_neighbour,
                                      t.kept_with.begin() + t.levels[n + 1].first_neighbour);
  };
  const crystal* inner = nullptr; // a small crystal among small ones
  for (const crystal& c : koto().crystals())
    if (c.x == 312.5 && c.y == 312.5) inner = &c;
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(kept_with("", inner->at).size(), 8U);
  EXPECT_EQ(kept_with("[suppression]\nneighbours = 2\n", inner->at).size(), 24U);
  EXPECT_EQ(kept_with("[suppression]\nneighbours = 0\n", inner->at).size(), 0U);
  const veto& barrel = koto().vetoes()[veto_named("CBAR")];
  EXPECT_EQ(kept_with("", barrel.inputs[20]).size(), 5U) << "three modules of two ends";
  const auto of_first = kept_with("", barrel.inputs[0]);
  EXPECT_EQ(of_first.size(), 5U) << "a barrel is a ring";
  const auto last = static_cast<std::uint16_t>(koto().number_of(barrel.inputs.back()));
  EXPECT_NE(std::ranges::find(of_first, last), of_first.end());
  EXPECT_EQ(
      kept_with("[[counter]]\nname = \"CBAR\"\nkept_neighbours = 0\n", barrel.inputs[20]),
      std::vector<std::uint16_t>{static_cast<std::uint16_t>(koto().number_of(barrel.inputs[21]))});
  const auto plain = tables_of(one_line);
  EXPECT_TRUE(plain.levels.empty() && plain.packed_payloads.empty());
  EXPECT_EQ(plain.constants.levels, 0U);
}

/// Settings and what is said of them; nothing if they fit the detector.
TEST(tables, what_does_not_fit_the_detector_is_told_where_it_stands) {
  const std::pair<std::string, std::string> cases[] = {
      // Two names whose hashes collide.
      {"[[line]]\nname = \"costarring\"\n[[line]]\nname = \"liquid\"\n",
       "4:8: \"liquid\" and \"costarring\" would have the same number in the stream"},
      {one_line + "vetoes = [\"CBAR\", \"CBRA\"]\n",
       "3:19: the detector has no counter \"CBRA\"; did you mean CBAR?"},
      {"[[counter]]\nname = \"X\"\n" + one_line, "2:8: the detector has no counter \"X\""},
      {"[clusters]\ncrystal_threshold = 1400.0\n" + one_line,
       "2:21: the threshold of a crystal, 1400, is above the digitizer's range, 1312.12"},
      {"[[counter]]\nname = \"BHGC\"\nthreshold = 400.0\n" + one_line,
       "3:13: the threshold of BHGC, 400, is above the digitizer's range, 319.5; lower it"},
      {"[[counter]]\nname = \"BHGC\"\nneighbours = 5\nwithin = 1.0\n" + one_line,
       "3:14: so many neighbours cannot have a hit: BHGC has 4 modules; lower it"},
      {"[vetoes]\nwindow_margin = 7.6\n" + one_line,
       "2:17: the margin leaves nothing of the window of BHGC; lower it, or give the counter a "
       "window of its own\ns.toml:2:17: the margin leaves nothing of the window of BHPV"},
      {"[clusters]\nevent_window = [149.0, 200.0]\n" + one_line,
       "2:16: clusters.event_window contains no pulse"},
      {"[clusters]\ncrystal_window = [149.0, 200.0]\n" + one_line,
       "2:18: clusters.crystal_window contains no pulse: pulses are searched from -108 to 148 ns"},
      {"[photons]\nwindow = [-200.0, -109.0]\n" + one_line,
       "2:10: photons.window contains no pulse"},
      {"[[counter]]\nname = \"CBAR\"\nwindow = [150.0, 160.0]\n" + one_line,
       "3:10: the window of CBAR contains no pulse: pulses are searched from -108 to 148 ns; "
       "choose a"},
      // At 500 MHz all of the waveform is looked through; pulses in time are 21.1 ns late in BHPV.
      {"[[counter]]\nname = \"BHPV\"\nwindow = [150.0, 160.0]\n" + one_line, ""},
      {"[[counter]]\nname = \"BHPV\"\nwindow = [287.0, 320.0]\n" + one_line,
       "3:10: the window of BHPV contains no pulse: pulses are searched from -225.1 to 286.9 ns"},
      {"[[counter]]\nname = \"BHPV\"\nwindow = [-225.0, -205.0]\n" + one_line, ""},
  };
  for (const auto& [text, message] : cases) {
    const std::string said = refusal(text);
    EXPECT_TRUE(message.empty() ? said.empty() : said.find(message) != said.npos) << text << said;
  }
}

TEST(tables, ranges_are_rounded_inwards) {
  const auto t = tables_of(one_line + "photons = [1.5, 2.5]\nphoton_energy = [500.0002, 600.0008]\n"
                                      "photon_distance = [100.3, 200.3]\n");
  const auto& range = t.lines[0].range;
  EXPECT_EQ(range[0].from, 2);
  EXPECT_EQ(range[0].to, 2);
  EXPECT_EQ(range[1].from, 500'001);
  EXPECT_EQ(range[1].to, 600'000);
  EXPECT_EQ(range[2].from, 1003); // though 100.3 × 10 is not 1003 in doubles
  EXPECT_EQ(range[2].to, 2003);
}

TEST(tables, a_detector_that_does_not_fit_is_refused) {
  const auto settings = parse_selection(one_line, "s.toml");
  const auto said = [&](const detector& d, const calibration& c) {
    return error_of([&] { return make_tables(d, c, settings, 7); });
  };
  const auto said_of = [&](const detector& d) { return said(d, nominal_calibration(d)); };
  EXPECT_EQ(said(koto(), {}), "the detector is not the one of this calibration");
  detector d(readout::koto());
  EXPECT_EQ(said_of(d), "the detector has no channels; describe a calorimeter or vetoes");
  d.add_crystal({0, 0, 25, 10, 0, {15, 3, 0}, false});
  EXPECT_EQ(said_of(d), "the detector has no trigger board; name one");
  d.set_trigger_board({14, 15, 0});
  EXPECT_EQ(said_of(d), "the detector has a crystal on input 15/3/0, at 500 MHz, but crystals "
                        "need 125 MHz; move it to a crate at 125 MHz");

  detector many(readout::koto());
  many.set_trigger_board({14, 15, 0});
  many.set_signals(koto().signals());
  veto v;
  v.modules = 1;
  v.window_from = -10;
  v.window_to = 10;
  v.threshold = 1;
  v.counts_per_unit = 10;
  for (std::uint8_t i = 0; i <= max_vetoes; ++i) {
    if (i == max_vetoes) {
      EXPECT_EQ(said_of(many), "");
    }
    v.name = "V" + std::to_string(i);
    v.inputs = {{14, static_cast<std::uint8_t>(3 + i / 16), static_cast<std::uint8_t>(i % 16)}};
    many.add_veto(v);
  }
  EXPECT_EQ(said_of(many), "the detector has " + std::to_string(max_vetoes + 1) +
                               " vetoes; there is room for " + std::to_string(max_vetoes));
}

/// A cut that changes in one of the two menus has to change in the other.
TEST(tables, of_the_suppressed_menu_have_the_cuts_of_the_built_in_one) {
  const auto built_in = default_selection();
  const std::string file = L3_SOURCE_DIR "/deploy/selection-suppressed.toml";
  auto suppressed = parse_selection(read_text(file), file);
  suppressed.sequence = built_in.sequence;
  suppressed.suppression = built_in.suppression;
  ASSERT_EQ(suppressed.lines.size(), built_in.lines.size());
  for (std::size_t n = 0; n < built_in.lines.size(); ++n) {
    EXPECT_EQ(suppressed.lines[n].name.value, built_in.lines[n].name.value);
    suppressed.lines[n].payload = built_in.lines[n].payload;
    suppressed.lines[n].control = built_in.lines[n].control;
    suppressed.lines[n].prescale = built_in.lines[n].prescale;
  }
  const auto hash = [](const selection_settings& s) {
    return make_tables(koto(), nominal_calibration(koto()), s, 7).constants.settings;
  };
  EXPECT_EQ(hash(suppressed), hash(built_in));
}

} // namespace
