// SPDX-License-Identifier: Apache-2.0
// The rest of the code that docs/adding-an-algorithm.md shows, and the comparison with the page.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "selection/algorithms/registry.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/algorithm_example.hpp"
#include "tests/shown_code.hpp"

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, early_crystals, cpu_executors);

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

TEST(algorithm_example, runs_where_the_sequence_names_it) {
  const std::vector<std::string> sequence = sequence_of(R"(
sequence = ["measure_pulses", "count_early_crystals", "find_clusters", "compute_quantities",
            "match_ends", "judge_vetoes", "decide"]
)");
  const batch_capacity capacity{.events = 16, .boards = 16 * 284};
  const sequence_plan plan =
      plan_sequence(sequence, algorithms::infos(), capacity, summaries::name);
  EXPECT_EQ(plan.at("early_light").bytes, 128U + 32U); // each column on cache lines of its own
  EXPECT_EQ(plan.at("early_light").first_step, 1U);
  EXPECT_EQ(plan.at("early_light").last_step, 1U) << "no step reads it";
}

TEST(algorithm_example, is_what_the_page_shows) {
  code_by_name shown;
  compare_page(L3_SOURCE_DIR, "docs/adding-an-algorithm.md",
               {"tests/selection/algorithms/algorithm_example.hpp",
                "tests/selection/algorithms/algorithm_example_test.cpp"},
               shown);
}

} // namespace
} // namespace l3::test
