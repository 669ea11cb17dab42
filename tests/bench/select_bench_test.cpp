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
       {make_cpu_select_runner(1, *batch, *program, *expected),
        make_cpu_select_runner(2, *batch, *program, *expected),
        make_select_runner(
            "device", 0, [] { return imagined(serial_queue(32)); }, *batch, *program, *expected)}) {
    ASSERT_EQ(r.parts.size(), program->sequence.size() + 4);
    for (const auto& [kind, x] : r.parts) {
      x.poison();
      EXPECT_FALSE(x.is_right()) << r.where << ", " << x.name;
      x.run();
      x.run();
      x.finish();
      EXPECT_TRUE(x.is_right()) << r.where << ", " << x.name;
    }
  }
}

TEST_F(select_bench, sees_what_was_left_out) {
  const select_runner r = make_select_runner(
      "device", 0, [] { return lazy_queue(serial_queue(32)); }, *batch, *program, *expected);
  for (const auto& [kind, x] : r.parts) {
    x.poison();
    x.run();
    x.finish();
    EXPECT_FALSE(x.is_right()) << x.name;
  }
}

TEST(select_report, measures_all_parts_in_turns) {
  std::string turns;
  select_runner r;
  for (const char* name : {"a", "b"})
    r.parts.push_back({part_kind::copy,
                       {name, [] {}, [&turns, name] { turns += name; },
                        [&turns, name] { return *name == 'a' || turns.size() < 5; }}});
  const auto rows = measure_selection(r, 1, 2);
  EXPECT_EQ(turns, "aabbaabb") << "one round is to warm up";
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].name, "b");
  EXPECT_EQ(rows[0].time.seconds.size(), 1U);
  EXPECT_TRUE(rows[0].time.right);
  EXPECT_FALSE(rows[1].time.right);
}

select_report made_report() {
  select_report r;
  r.where = "one core";
  r.cores = 1;
  r.events = 100;
  r.input_bytes = 1000;
  r.kept = 15;
  r.no_device = "there is none";
  r.rows = {{part_kind::copy, "copy", summary({1, 2, 3})},
            {part_kind::decode, "decode", summary({2, 20, 2})}, // one round was ten times as slow
            {part_kind::algorithm, "measure", summary({3, 30, 3})},
            {part_kind::algorithm, "find", summary({2, 10, 2})},
            {part_kind::selection, "all", summary({5, 50, 5})},
            {part_kind::packing, "packed", summary({6, 60, 6})}};
  return r;
}

TEST(select_report, adds_up_what_is_beyond_the_decode) {
  const select_report r = made_report();
  EXPECT_DOUBLE_EQ(r.added().median, 1.5)
      << "(3 + 2 - 2) / 2; in the slow round (30 + 10 - 20) / 20";
  EXPECT_DOUBLE_EQ(r.added().low, 1.0);
  EXPECT_DOUBLE_EQ(r.of_decode(r.row(part_kind::selection)).median, 2.5);
  EXPECT_TRUE(r.all_right());
  const boost::json::value json = to_json(r);
  EXPECT_DOUBLE_EQ(json.at("added_of_decode").as_double(), 1.5);
  EXPECT_TRUE(json.at("added_is_below").as_bool());
  EXPECT_EQ(json.at("no_device").as_string(), "there is none");
  EXPECT_DOUBLE_EQ(json.at("rows").at(4).at("events_per_second").as_double(), 20);
}

TEST(select_report, says_which_bar_is_missed) {
  select_report r = made_report();
  r.rows[3].time = summary({12, 12, 12});
  EXPECT_FALSE(to_json(r).at("added_is_below").as_bool());
  r.rows[3].time.right = false;
  EXPECT_FALSE(r.all_right());
}

TEST(select_report, holds_a_device_against_its_own_bar) {
  select_report r = made_report();
  EXPECT_FALSE(to_json(r).contains("device_reaches_it")) << "none was measured";
  r.cores = 0;
  r.events = 1'000'000;
  r.rows[4].time = summary({1.1, 1.1, 1.1});
  EXPECT_FALSE(to_json(r).at("device_reaches_it").as_bool());
  r.rows[4].time = summary({0.5, 0.5, 0.5});
  EXPECT_TRUE(to_json(r).at("device_reaches_it").as_bool());
}

} // namespace
} // namespace l3::test
