// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `koto-l3 plan`, and the tables that it takes.
#include <cstdint>
#include <fstream>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"
#include "tools/command_error.hpp"
#include "tools/plan/cost_table.hpp"
#include "tools/plan/sizing.hpp"

namespace l3 {
namespace {

constexpr double gigabyte = 1e9;

cost_table costs() {
  return {"here",
          "tcp",
          {{"tcp", true, false, 0.25, 0.01},
           {"koto-l3d", true, true, 0.5, 0},
           {"drain", false, false, 0.4, 0}}};
}

TEST(a_sizing, adds_up_what_threads_take_of_input_and_output) {
  const auto loads = loads_at(costs(), 2 * gigabyte, 0.5 * gigabyte);
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_DOUBLE_EQ(loads[0].processors, 0.51);
  EXPECT_DOUBLE_EQ(loads[1].processors, 1);
  EXPECT_DOUBLE_EQ(loads[2].processors, 0.2);
  EXPECT_DOUBLE_EQ(sum_of(loads), 1.71);
}

TEST(a_sizing, takes_as_many_nodes_as_the_thread_that_cannot_be_split_needs) {
  sizing_wishes w;
  w.rate = 10 * gigabyte;
  w.kept = 0.1;
  w.ratio = 2;
  w.headroom = 0.76;
  const sizing s = size_for(costs(), w);
  EXPECT_EQ(s.first_to_saturate, "tcp");
  EXPECT_DOUBLE_EQ(s.saturates_at, 3 * gigabyte); // (0.76 − 0.01) / 0.25
  EXPECT_EQ(s.nodes, 4U);
  EXPECT_DOUBLE_EQ(s.node_input, 2.5 * gigabyte);
  EXPECT_TRUE(s.not_met.empty());
  w.nodes = 3;
  EXPECT_EQ(size_for(costs(), w).not_met.size(), 1U);
}

/// A rate may be any number of 64 bits; the counts that follow from it were taken modulo 2^32.
TEST(a_sizing, counts_more_processors_and_interfaces_than_there_are_in_32_bits) {
  sizing_wishes w;
  w.rate = 20 * gigabyte;
  w.nodes = 1;
  w.headroom = 0.8;
  w.interface = 1;
  EXPECT_EQ(size_for(costs(), w).interfaces, 25'000'000'000U);
  w.rate = 20e9 * gigabyte;
  EXPECT_GT(size_for(costs(), w).processors_needed, 6'000'000'000U);
  w.interface = 0.125;
  EXPECT_EQ(size_for(costs(), w).interfaces, std::uint64_t{1} << 53U);
}

TEST(a_sizing, does_not_split_the_threads_of_udp_beyond_what_was_measured) {
  cost_table udp = built_in_costs(true);
  sizing_wishes w;
  w.rate = 12.5 * gigabyte;
  w.nodes = 1;
  const sizing one = size_for(udp, w);
  EXPECT_EQ(one.first_to_saturate, "udp");
  EXPECT_LT(one.saturates_at, 5 * gigabyte);
  ASSERT_FALSE(one.not_met.empty());
  EXPECT_NE(one.not_met[0].find("the threads of udp saturate"), std::string::npos)
      << one.not_met[0];
  w.nodes.reset();
  EXPECT_EQ(size_for(udp, w).nodes, 3U);
}

TEST(a_sizing, of_nodes_with_few_processors_takes_more_of_them) {
  sizing_wishes w;
  w.rate = 4 * gigabyte;
  w.kept = 0;
  w.processors = 2;
  w.headroom = 1;
  const sizing s = size_for(costs(), w); // 0.75 processors a GB/s, and 0.01
  EXPECT_EQ(s.nodes, 2U);
  EXPECT_EQ(s.processors_needed, 2U);
}

TEST(a_sizing, knows_when_the_line_is_too_small_and_what_an_outage_leaves) {
  sizing_wishes w;
  w.rate = 10 * gigabyte;
  w.nodes = 4;
  w.duty = 0.5;
  w.kept = 0.1;
  w.ratio = 2;
  w.link = 0.5 * gigabyte;
  w.outage = 100;
  w.outbox = 1 * gigabyte;
  const sizing s = size_for(costs(), w);
  EXPECT_DOUBLE_EQ(s.mean_output, 0.25 * gigabyte);
  EXPECT_DOUBLE_EQ(s.outage_bytes, 6.25 * gigabyte);
  EXPECT_DOUBLE_EQ(s.disk_bytes, 5.25 * gigabyte);
  EXPECT_DOUBLE_EQ(s.drain_seconds.value(), 100);
  w.kept = 0.2 - 1e-12;
  EXPECT_EQ(size_for(costs(), w).drain_seconds, std::nullopt)
      << "the line is full but for what no float tells";
  w.kept = 0;
  EXPECT_EQ(size_for(costs(), w).drain_seconds, 0) << "nothing waits";
  w.kept = 0.5;
  EXPECT_EQ(size_for(costs(), w).drain_seconds, std::nullopt);
  ASSERT_EQ(size_for(costs(), w).not_met.size(), 1U);
  EXPECT_NE(size_for(costs(), w).not_met[0].find("20.0 %"), std::string::npos);
}

TEST(a_table_of_costs, comes_back_from_a_report_and_what_is_none_is_refused) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "costs.json").string();
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return read_cost_table(file);
  };
  const std::string text = boost::json::serialize(to_json(costs()));
  for (const std::string& whole : {text, R"({"bench":"sizing","table":)" + text + "}"}) {
    const cost_table t = read(whole);
    EXPECT_EQ(t.way, "tcp");
    ASSERT_EQ(t.threads.size(), 3U);
    EXPECT_EQ(t.threads[2].name, "drain");
    EXPECT_FALSE(t.threads[2].input);
    EXPECT_DOUBLE_EQ(t.threads[0].idle, 0.01);
  }
  for (
      const char* wrong :
      {"", "[]", "{}", R"({"measured":"x","way":"smoke","threads":[]})",
       R"({"measured":"x","way":"tcp","threads":[{"thread":"a","of":"input","splits":true,"seconds_per_gigabyte":-1,"idle":0}]})",
       R"({"measured":"x","way":"tcp","threads":[{"thread":"a","of":"air","splits":true,"seconds_per_gigabyte":1,"idle":0}]})"})
    EXPECT_THROW((void)read(wrong), command_error) << wrong;
  EXPECT_THROW((void)read_cost_table("/nowhere"), command_error);
}

TEST(a_table_of_costs, has_256_threads_and_a_mebibyte_at_most) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "costs.json").string();
  const auto read = [&](std::size_t threads, std::size_t bytes) {
    cost_table table = costs();
    table.threads.resize(threads, table.threads.front());
    std::string text = boost::json::serialize(to_json(table));
    text.resize(std::max(text.size(), bytes), ' ');
    std::ofstream(file) << text;
    return read_cost_table(file).threads.size();
  };
  EXPECT_EQ(read(256, 0), 256U);
  EXPECT_THROW((void)read(257, 0), command_error);
  EXPECT_EQ(read(3, 1 << 20), 3U);
  EXPECT_THROW((void)read(3, (1 << 20) + 1), command_error);
}

TEST(a_table_of_costs, has_figures_up_to_a_million_and_is_32_deep_at_most) {
  const temporary_folder folder;
  const std::string file = (folder.path() / "costs.json").string();
  const auto with = [&](double seconds, std::size_t depth) {
    cost_table table = costs();
    table.threads.front().seconds_per_gigabyte = seconds;
    const std::string text = boost::json::serialize(to_json(table));
    // Within the table, which is the first.
    std::ofstream(file) << "{\"more\":" << std::string(depth - 1, '[')
                        << std::string(depth - 1, ']') << "," << text.substr(1);
    return read_cost_table(file).threads.front().seconds_per_gigabyte;
  };
  EXPECT_EQ(with(1'000'000, 32), 1e6);
  EXPECT_EQ(with(0, 32), 0);
  EXPECT_THROW((void)with(1'000'001, 32), command_error);
  EXPECT_THROW((void)with(-1e-9, 32), command_error);
  EXPECT_THROW((void)with(1, 33), command_error);
}

TEST(a_table_of_costs, is_compiled_in_for_both_ways) {
  for (const bool udp : {false, true}) {
    const cost_table t = built_in_costs(udp);
    EXPECT_EQ(t.way, udp ? "udp" : "tcp");
    EXPECT_FALSE(t.measured.empty());
    EXPECT_GT(sum_of(loads_at(t, gigabyte, gigabyte / 10)), 0);
    for (const thread_cost& c : t.threads) {
      EXPECT_EQ(c.input, kind_of_thread(c.name).input) << c.name;
      EXPECT_EQ(c.splits, kind_of_thread(c.name).splits) << c.name;
    }
  }
}

} // namespace
} // namespace l3
