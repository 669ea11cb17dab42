// SPDX-License-Identifier: Apache-2.0
// The report of packing within a device, and the plot of it, with an imagined one.
#include "bench/device/device_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include <boost/json.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include "gpu/executors/serial.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace bench;
using imagined = stream_queue<serial_queue>;

device_report example() {
  device_report r;
  r.events = 2;
  r.input_bytes = 1000;
  r.rows = {{"copy", 1000, 2000, false, summary({1e-6})},
            {"ours", 1000, 1500, false, summary({2e-6})},
            {"blocks", 900, 1400, true, summary({8e-6})},
            {"threads", 900, 1400, true, summary({20e-6})}};
  return r;
}

TEST(device_report, puts_each_time_beside_the_first_kernels) {
  const auto j = boost::json::value(to_json(example()));
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/times_as_fast_as/blocks").as_double(), 4);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/times_as_fast_as/threads").as_double(), 10);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/3/times_as_fast_as/blocks").as_double(), 0.4);
  EXPECT_DOUBLE_EQ(j.at_pointer("/rows/1/of_copy").as_double(), 0.375);
}

TEST(device_report, does_not_hide_wrong_output) {
  device_report r = example();
  EXPECT_TRUE(r.all_right());
  r.rows[2].time.right = false;
  EXPECT_FALSE(r.all_right());
  EXPECT_FALSE(boost::json::value(to_json(r)).at_pointer("/rows/2/right").as_bool());
}

TEST(device_report, has_sizes_from_one_event_to_all) {
  EXPECT_EQ(sizes_below(1), std::vector<std::uint32_t>());
  EXPECT_EQ(sizes_below(2048), (std::vector<std::uint32_t>{1, 4, 16, 64, 256, 1024}));
  EXPECT_EQ(sizes_below(4), std::vector<std::uint32_t>{1});
}

TEST(device_report, plots_copy_device_first_kernels_and_cpu) {
  std::vector<device_report> by_size;
  for (const std::uint32_t events : {1U, 2U}) {
    by_size.push_back(measure_device(events, 1, [](const auto& batch, const auto& expected) {
      return device_pack<imagined>(imagined(serial_queue(32)), batch, expected).run(1);
    }));
    EXPECT_TRUE(by_size.back().all_right());
  }
  by_size.back().device = "a < b";
  std::istringstream in(to_svg(to_plot(by_size)));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(in, tree); // throws if it is no XML
  std::vector<std::string> texts;
  std::size_t lines = 0;
  for (const auto& [tag, node] : tree.get_child("svg")) {
    if (tag == "text") texts.push_back(node.data());
    if (tag != "polyline") continue;
    ++lines;
    std::istringstream points(node.get<std::string>("<xmlattr>.points"));
    EXPECT_EQ(std::distance(std::istream_iterator<std::string>(points), {}), 2);
  }
  const auto has = [&](const std::string& begin) {
    return std::ranges::any_of(texts, [&](const auto& t) { return t.starts_with(begin); });
  };
  EXPECT_EQ(lines, 7U);
  for (const char* name :
       {"Time to pack within the memory of a < b", "copy of the packets", "in one pass", "measure,",
        "in the strong codec", "first: a block a waveform", "first: a thread a waveform",
        "one CPU core, "})
    EXPECT_TRUE(has(name)) << name;
}

TEST(device_report, sees_a_core_that_packs_wrongly) {
  const decode_batch batch(1, 0);
  device_pack_expected expected(batch);
  EXPECT_TRUE(pack_on_one_core(expected, 1).time.right);
  const std::size_t last = (expected.waveforms() - 1) * waveform_slots::bytes;
  expected.slots[last + 1] ^= std::byte{1}; // the minimum
  EXPECT_FALSE(pack_on_one_core(expected, 1).time.right);
}

} // namespace
} // namespace l3::test
