// SPDX-License-Identifier: Apache-2.0
// That `koto-l3-bench select` measures what it says: every part does its work, on simulated events
// some of which are kept; what it costs is reckoned as written; and wrong output is seen.
#include <algorithm>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "bench/selection/select_report.hpp"
#include "bench/selection/select_stand.hpp"
#include "gpu/executors/serial.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tests/selection/engine/stream_queue.hpp"

namespace l3::test {
namespace {

using namespace bench;

constexpr std::uint32_t events = 12;

using imagined = stream_queue<serial_queue>;

/// Leaves out the last block of every kernel and the last byte of a copy.
struct lazy_queue : imagined {
  using imagined::imagined;

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    imagined::run(kernel, blocks > 1 ? blocks - 1 : blocks, args...);
  }
  void copy_within(void* to, const void* from, std::size_t n) {
    imagined::copy_within(to, from, n - 1);
  }
};

struct select_bench : testing::Test {
  static void SetUpTestSuite() {
    what = std::make_unique<loaded_selection>(
        load_selection({built_in, built_in, ""}, default_detector().crates(), 1));
    program = std::make_unique<selection_program>(what->program());
    batch = std::make_unique<select_batch>(what->what, events);
    expected = std::make_unique<select_expected>(expect_selection(*batch, *program));
  }
  static void TearDownTestSuite() {
    expected.reset();
    batch.reset();
    program.reset();
    what.reset();
  }

  static inline std::unique_ptr<loaded_selection> what;
  static inline std::unique_ptr<selection_program> program;
  static inline std::unique_ptr<select_batch> batch;
  static inline std::unique_ptr<select_expected> expected;
};

TEST_F(select_bench, batch_holds_whole_simulated_events) {
  const batch_view& in = batch->view();
  EXPECT_EQ(in.events.size(), events);
  EXPECT_EQ(in.boards.size(), events * readout::koto().boards());
  EXPECT_EQ(batch->fragment_bytes(), events * readout::koto().event_bytes());
  for (std::uint32_t i = 0; i < in.fragments.size(); ++i) EXPECT_EQ(in.fragments[i].raw, 0);
  EXPECT_GT(expected->kept, 0U);
  EXPECT_LT(expected->kept, events);
  EXPECT_EQ(expected->by_step.size(), program->sequence.size() + 1);
  for (std::size_t i = 0; i < program->sequence.size(); ++i)
    EXPECT_NE(expected->by_step[i], expected->by_step[i + 1]) << program->sequence[i];
}

TEST_F(select_bench, every_part_gives_the_same_on_any_executor) {
  for (const select_runner& r :
       {make_serial_select_runner(*batch, *program, *expected),
        make_pool_select_runner(2, *batch, *program, *expected),
        make_select_runner(
            "device", 0, [] { return imagined(serial_queue(32)); }, *batch, *program, *expected)}) {
    ASSERT_EQ(r.parts.size(), program->sequence.size() + 4);
    for (std::size_t i = 0; i < r.parts.size(); ++i) {
      r.prepare(i);
      EXPECT_FALSE(r.is_right(i)) << r.where << ", " << r.parts[i].name;
      r.run(i, 2);
      EXPECT_TRUE(r.is_right(i)) << r.where << ", " << r.parts[i].name;
    }
  }
}

TEST_F(select_bench, sees_what_was_left_out) {
  const select_runner r = make_select_runner(
      "device", 0, [] { return lazy_queue(serial_queue(32)); }, *batch, *program, *expected);
  for (std::size_t i = 0; i < r.parts.size(); ++i) {
    r.prepare(i);
    r.run(i, 1);
    EXPECT_FALSE(r.is_right(i)) << r.parts[i].name;
  }
}

TEST(select_report, measures_all_parts_in_turns) {
  std::vector<std::size_t> turns;
  select_runner r;
  r.parts = {{"a", part_kind::copy}, {"b", part_kind::decode}};
  r.prepare = [](std::size_t) {};
  r.run = [&](std::size_t i, std::uint32_t passes) { turns.insert(turns.end(), passes, i); };
  r.is_right = [&](std::size_t i) { return i == 0 || turns.size() < 5; };
  const auto rows = measure_selection(r, 1, 2);
  EXPECT_EQ(turns, (std::vector<std::size_t>{0, 0, 1, 1, 0, 0, 1, 1})) << "one round is to warm up";
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].part.name, "b");
  EXPECT_EQ(rows[0].seconds.size(), 1U);
  EXPECT_TRUE(rows[0].right);
  EXPECT_FALSE(rows[1].right);
}

select_report made_report() {
  select_report r;
  r.processor = "a core";
  r.where = "one core";
  r.cores = 1;
  r.events = 100;
  r.input_bytes = 1000;
  r.kept = 15;
  r.no_device = "there is none";
  r.rows = {{{"copy", part_kind::copy}, {1, 2, 3}},
            {{"decode", part_kind::decode}, {2, 20, 2}}, // one round was ten times as slow
            {{"measure", part_kind::algorithm}, {3, 30, 3}},
            {{"find", part_kind::algorithm}, {2, 10, 2}},
            {{"all", part_kind::selection}, {5, 50, 5}},
            {{"packed", part_kind::packing}, {6, 60, 6}}};
  return r;
}

TEST(select_report, adds_up_what_is_beyond_the_decode) {
  const select_report r = made_report();
  EXPECT_DOUBLE_EQ(r.added().median, 1.5)
      << "(3 + 2 - 2) / 2; in the slow round (30 + 10 - 20) / 20";
  EXPECT_DOUBLE_EQ(r.added().low, 1.0);
  EXPECT_DOUBLE_EQ(r.of_decode(r.row(part_kind::selection)).median, 2.5);
  EXPECT_TRUE(r.all_right());
  const std::string table = to_table(r);
  EXPECT_NE(table.find("without the decode: 1.50 (1.00 … 1.50) of the decode; below 2: met\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("on a device: not measured: there is none\n"), std::string::npos) << table;
  const auto json = boost::json::parse(to_json(r));
  EXPECT_DOUBLE_EQ(json.at("added_of_decode").as_double(), 1.5);
  EXPECT_DOUBLE_EQ(json.at("rows").at(4).at("events_per_second").as_double(), 20);
}

TEST(select_report, says_which_bar_is_missed) {
  select_report r = made_report();
  r.rows[3].seconds = {12, 12, 12};
  EXPECT_NE(to_table(r).find("below 2: NOT MET\n"), std::string::npos) << to_table(r);
  r.rows[3].right = false;
  EXPECT_FALSE(r.all_right());
  EXPECT_NE(to_table(r).find("WRONG OUTPUT\n"), std::string::npos);
}

TEST(select_report, holds_a_device_against_its_own_bar) {
  select_report r = made_report();
  r.cores = 0;
  r.events = 1'000'000;
  r.rows[4].seconds = {1.1, 1.1, 1.1};
  EXPECT_NE(to_table(r).find("0.91 M events/s; at least 1 M: NOT MET\n"), std::string::npos)
      << to_table(r);
  r.rows[4].seconds = {0.5, 0.5, 0.5};
  EXPECT_NE(to_table(r).find("2.00 M events/s; at least 1 M: met\n"), std::string::npos);
}

} // namespace
} // namespace l3::test
