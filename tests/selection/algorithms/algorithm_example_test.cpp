// SPDX-License-Identifier: Apache-2.0
// The rest of the code that docs/adding-an-algorithm.md shows, and the comparison with the page.
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/pool.hpp"
#include "gpu/executors/serial.hpp"
#include "gpu/executors/shuffled.hpp"
#include "gpu/executors/threaded.hpp"
#include "selection/algorithms/registry.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tests/selection/algorithms/algorithm_example.hpp"
#include "tests/shown_code.hpp"

namespace l3::test {
namespace {

template <std::uint32_t width>
struct serial {
  static serial_queue make() { return serial_queue(width); }
};
struct shuffled {
  static shuffled_queue make() { return {32, 42}; }
};
struct threaded {
  static threaded_queue make() { return threaded_queue(4); }
};
struct pool {
  static pool_queue make() {
    static thread_pool pool(3);
    return pool_queue(pool);
  }
};
using executors = testing::Types<serial<1>, serial<64>, shuffled, threaded, pool>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, early_crystals, executors);

using algorithms = algorithm_list< //
    measure_pulses,                //
    count_early_crystals,          //
    find_clusters,                 //
    compute_quantities,            //
    match_ends,                    //
    judge_vetoes,                  //
    decide>;

/// The sequence of the settings that begin with `toml`; a trigger line is added, without which
/// settings are refused.
std::vector<std::string> sequence_of(const std::string& toml) {
  const selection_settings settings =
      parse_selection(toml + "[[line]]\nname = \"all\"\n", "example.toml");
  return {settings.sequence.begin(), settings.sequence.end()};
}

std::string refusal(const std::vector<std::string>& sequence) {
  try {
    static_cast<void>(plan_sequence(sequence, algorithms::infos(), {}, summaries::name));
    return {};
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

TEST(algorithm_example, runs_where_the_sequence_names_it) {
  const std::vector<std::string> sequence = sequence_of(R"(
sequence = ["measure_pulses", "count_early_crystals", "find_clusters", "compute_quantities",
            "match_ends", "judge_vetoes", "decide"]
)");
  const batch_capacity capacity{.events = 16, .boards = 16 * 284};
  const sequence_plan plan =
      plan_sequence(sequence, algorithms::infos(), capacity, summaries::name);
  const std::string text = describe(plan, algorithms::infos());
  EXPECT_NE(text.find("count_early_crystals: reads pulses, board_signals; writes early_light\n"),
            std::string::npos);
  EXPECT_EQ(plan.at("early_light").bytes, 128U + 32U); // each column on cache lines of its own
  EXPECT_EQ(plan.at("early_light").first_step, 1U);
  EXPECT_EQ(plan.at("early_light").last_step, 1U) << "no step reads it";
}

TEST(algorithm_example, is_missed_where_the_sequence_is_wrong) {
  EXPECT_EQ(refusal({"count_early_crystals", "measure_pulses"}),
            "sequence: `count_early_crystals` reads `pulses`, which no earlier step writes; "
            "`measure_pulses` does");
  EXPECT_EQ(refusal({"measure_pulses", "count_early_crystals", "count_early_crystals"}),
            "sequence: `count_early_crystals` writes `early_light` a second time; "
            "`count_early_crystals` did before");
  EXPECT_EQ(refusal({"count_early_crystal"}),
            "sequence: there is no algorithm `count_early_crystal`; there are: measure_pulses, "
            "count_early_crystals, find_clusters, compute_quantities, match_ends, judge_vetoes, "
            "decide");
}

TEST(algorithm_example, promises_are_checked) {
  serial_queue queue;
  const made_calorimeter calorimeter;
  pulse_event event;
  light(event, 0, 10000, 100);
  const made_pulses<serial_queue> made(queue, {event});
  const slot_rows<early_light, serial_queue> found(queue, 1);
  const selection_frame frame{made.host(), calorimeter.tables(), {}};
  const auto broken = [&](std::int32_t energy, std::uint16_t crystals) -> std::string {
    found.host()[0] = {.energy = energy, .crystals = crystals};
    const char* const what = count_early_crystals::broken_promise(
        frame, made.rows().host(), made.signals().host(), found.host());
    return what == nullptr ? "" : what;
  };
  EXPECT_EQ(broken(10000, 1), "");
  EXPECT_EQ(broken(10000, 17), "more early crystals than inputs");
  EXPECT_EQ(broken(1, 2), "an early crystal without energy");
  EXPECT_EQ(broken(-1, 0), "an early crystal without energy");
  EXPECT_EQ(broken(5, 0), "early energy without a crystal");
}

TEST(algorithm_example, is_what_the_page_shows) {
  code_by_name shown;
  compare_page(L3_SOURCE_DIR, "docs/adding-an-algorithm.md",
               {"tests/selection/algorithms/algorithm_example.hpp",
                "tests/selection/algorithms/algorithm_example_test.cpp",
                "tests/selection/algorithms/algorithm_example_cuda_test.cu"},
               shown);
}

} // namespace
} // namespace l3::test
