// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <boost/json.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include "bench/codec/codec_entrants.hpp"
#include "bench/codec/codec_report.hpp"
#include "bench/codec/general_codecs.hpp"
#include "bench/codec/waveform_mix.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/svg_plot.hpp"
#include "tests/tools/temporary_folder.hpp"

namespace {

using namespace l3;
using namespace l3::bench;

/// Writes down what is done to it.
entrant scribe(char name, std::string& log, bool right = true) {
  const auto write = [&log, name](char what) { log += {what, name, ' '}; };
  return {std::string(1, name), [write] { write('p'); }, [write] { write('r'); },
          [write, right] {
            write('c');
            return right;
          }};
}

TEST(measure, poisons_all_then_each_takes_its_turn) {
  std::string log;
  const std::vector<entrant> all{scribe('A', log), scribe('B', log)};
  const auto times = measure(all, {2});
  EXPECT_EQ(log, "pA pB rA cA rB cB pA pB rA cA rB cB ");
  EXPECT_EQ(times.size(), 2U);
}

TEST(measure, warms_up_before_it_poisons) {
  std::string log;
  const std::vector<entrant> all{scribe('A', log), scribe('B', log)};
  std::ignore = measure(all, {1, 3, start::hot});
  EXPECT_EQ(log, "rA pA rA rA rA cA rB pB rB rB rB cB ");
}

TEST(measure, in_turn_poisons_each_by_itself_and_warms_up_for_a_round) {
  std::string log;
  std::vector<entrant> all{scribe('A', log), scribe('B', log)};
  all[1].finish = [&] { log += "fB "; };
  const auto times = measure(all, {1, 2, start::in_turn, timer::wall});
  EXPECT_EQ(log, "pA rA rA cA pB rB rB fB cB pA rA rA cA pB rB rB fB cB ");
  EXPECT_EQ(times[0].seconds.size(), 1U);
}

TEST(measure, one_wrong_output_is_enough) {
  std::string log;
  std::vector<entrant> all{scribe('A', log), scribe('B', log)};
  int runs = 0;
  all[0].is_right = [&] { return ++runs != 2; };
  const auto times = measure(all, {3});
  EXPECT_FALSE(times[0].right);
  EXPECT_TRUE(times[1].right);
}

TEST(measure, gives_median_and_quartiles) {
  const timing t = summary({9, 1, 5, 3, 7});
  EXPECT_EQ(t.median, 5);
  EXPECT_EQ(t.low, 3);
  EXPECT_EQ(t.high, 7);
  EXPECT_EQ(t.seconds, (std::vector<double>{9, 1, 5, 3, 7})) << "round by round";
  EXPECT_EQ(summary({2}).median, 2);
}

TEST(waveform_mix, has_small_and_large_n) {
  const auto samples = made_up_waveforms(10'000);
  EXPECT_EQ(samples, made_up_waveforms(10'000));
  const auto counts = count_by_n(samples);
  for (std::size_t n = 2; n <= 14; ++n) EXPECT_GT(counts[n], 0U) << n;
  EXPECT_GT(counts[4], counts[8]);
  std::size_t above_7 = 0;
  for (std::size_t n = 8; n <= 16; ++n) above_7 += counts[n];
  EXPECT_NEAR(static_cast<double>(above_7), 1700, 200);
}

TEST(waveform_mix, reads_recordings_again_from_their_begin) {
  const temporary_folder folder;
  std::vector<std::uint16_t> two(128 + 5); // the last samples are no whole waveform
  for (std::uint16_t i = 0; i < two.size(); ++i) two[i] = i;
  write_file(folder / "two.u16", two);
  const auto five = recorded_waveforms((folder / "two.u16").string(), 5);
  ASSERT_EQ(five.size(), 5U * 64);
  for (std::size_t i = 0; i < five.size(); ++i) ASSERT_EQ(five[i], i % 128);

  write_file(folder / "short.u16", std::vector<std::uint16_t>(63));
  EXPECT_THROW(std::ignore = recorded_waveforms((folder / "short.u16").string(), 1),
               std::runtime_error);
  EXPECT_THROW(std::ignore = recorded_waveforms((folder / "none.u16").string(), 1),
               std::runtime_error);
}

TEST(general_codecs, give_back_what_they_took) {
  const auto samples = made_up_waveforms(500);
  const auto plain = std::as_bytes(std::span(samples));
  auto all = general_codecs(codec_set::fast);
  EXPECT_EQ(all.size() + codecs_left_out(codec_set::fast).size(), 4U);
  const auto wide = general_codecs(codec_set::wide);
  EXPECT_EQ(wide.size() + codecs_left_out(codec_set::wide).size(), 10U);
  all.insert(all.end(), wide.begin(), wide.end());
  for (const general_codec& c : all) {
    SCOPED_TRACE(c.name);
    std::vector<std::byte> packed(max_compressed_bytes(plain.size()));
    const auto n = c.compress(plain, packed);
    ASSERT_GT(n, 0U);
    ASSERT_LT(n, plain.size());
    std::vector<std::byte> back(plain.size());
    ASSERT_EQ(c.decompress(std::span(packed).first(n), back), plain.size());
    EXPECT_TRUE(std::ranges::equal(back, plain));
    EXPECT_EQ(c.compress(plain, std::span(packed).first(10)), 0U);
  }
}

class codec_entrants_of : public testing::TestWithParam<codec_direction> {};

TEST_P(codec_entrants_of, are_right_after_a_run_and_wrong_after_poison) {
  const auto samples = made_up_waveforms(100);
  const auto all = codec_entrants(GetParam(), samples);
  ASSERT_GE(all.size(), 7U - codecs_left_out(codec_set::fast).size());
  EXPECT_EQ(all[0].what.name, "memcpy");
  for (const codec_entrant& e : all) {
    SCOPED_TRACE(e.what.name);
    e.what.poison();
    EXPECT_FALSE(e.what.is_right());
    e.what.run();
    EXPECT_TRUE(e.what.is_right());
    e.what.poison();
    EXPECT_FALSE(e.what.is_right());
    if (e.what.name.find("cpy") != std::string::npos || e.what.name.find("copy") == 0) continue;
    ASSERT_NE(e.packed_bytes, nullptr);
    EXPECT_GT(*e.packed_bytes, 0U);
    EXPECT_LT(*e.packed_bytes, samples.size() * sizeof samples[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(directions, codec_entrants_of,
                         testing::Values(codec_direction::pack, codec_direction::unpack));

codec_report example() {
  codec_report r;
  r.bench = "pack";
  r.by_n = {0, 1, 3};
  r.hot_bytes = 1000;
  r.cold_bytes = 2000;
  r.rows = {{"memcpy", 0, summary({1e-6}), summary({4e-6})},
            {"other", 2.5, summary({1e-6, 2e-6, 4e-6, 1e-6, 4e-6}), summary({5e-6})}};
  return r;
}

TEST(codec_report, puts_each_rate_beside_the_copy) {
  const auto j = boost::json::value(to_json(example()));
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/hot/bytes_per_second").as_double(), 5e8);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/hot/low_quartile").as_double(), 2.5e8);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/hot/of_memcpy").as_double(), 0.5);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/cold/of_memcpy").as_double(), 0.8);
  const auto table = report_table(to_json(example()));
  EXPECT_NE(table.find("500.00 M (250.00 M … 1.00 G)"), std::string::npos) << table;
}

TEST(codec_report, names_what_is_left_out) {
  codec_report r = example();
  EXPECT_NE(report_table(to_json(r)).find("\nleft out: none\n"), std::string::npos);
  r.left_out = {"lz4: built without liblz4", "zlib -1: built without zlib"};
  EXPECT_NE(report_table(to_json(r)).find("\nleft out: lz4: built without liblz4, zlib -1: built"),
            std::string::npos);
}

TEST(codec_report, does_not_hide_wrong_output) {
  codec_report r = example();
  EXPECT_TRUE(r.all_right());
  r.rows[1].cold.right = false;
  EXPECT_FALSE(r.all_right());
  EXPECT_FALSE(boost::json::value(to_json(r)).at_pointer("/rows/1/cold/right").as_bool());
}

/// Throws if the text is no XML.
boost::property_tree::ptree parsed(const std::string& svg) {
  std::istringstream in(svg);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(in, tree);
  return tree.get_child("svg");
}

TEST(svg_plot, draws_logarithms) {
  const auto svg =
      parsed(to_svg({"a < b & c", "x", "y", {{"one", {{1, 10}, {10, 100}, {100, 1000}}}}}));
  EXPECT_EQ(svg.get<std::string>("text"), "a < b & c");
  std::istringstream points(svg.get<std::string>("polyline.<xmlattr>.points"));
  double x[3], y[3];
  char comma;
  for (int i = 0; i < 3; ++i) points >> x[i] >> comma >> y[i];
  ASSERT_TRUE(points);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_NEAR(y[1] - y[0], y[2] - y[1], 0.2);
  EXPECT_LT(x[0], x[2]);
  EXPECT_GT(y[0], y[2]) << "larger is higher";
}

TEST(svg_plot, names_do_not_cover_each_other) {
  plot p{"t", "x", "y", {}};
  for (int i = 0; i < 12; ++i) p.lines.push_back({"line " + std::to_string(i), {{1, 1}, {10, 7}}});
  const auto svg = parsed(to_svg(p));
  std::vector<double> heights;
  for (const auto& [tag, node] : svg) {
    if (tag != "text" || node.data().rfind("line ", 0) != 0) continue;
    heights.push_back(node.get<double>("<xmlattr>.y"));
  }
  ASSERT_EQ(heights.size(), 12U);
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14);
  EXPECT_EQ(svg.count("polyline"), 12U);
}

TEST(svg_plot, without_points_is_still_a_picture) {
  EXPECT_EQ(parsed(to_svg({"t", "x", "y", {{"none", {}}}})).count("polyline"), 1U);
  EXPECT_EQ(parsed(to_svg({"t", "x", "y", {{"one", {{3, 3}}}}})).count("polyline"), 1U);
}

} // namespace
