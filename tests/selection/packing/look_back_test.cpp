// SPDX-License-Identifier: Apache-2.0
#include "tests/selection/packing/look_back_cases.hpp"

#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/engine/hesitant_queue.hpp"

namespace l3::test {
namespace {

using all = testing::Types<on_serial<1>, on_serial<128>, on_shuffled<32>, on_threaded<3>,
                           on_pool<1>, on_pool<3>, on_pool<9>, on_hesitant<on_serial<1>>,
                           on_hesitant<on_serial<128>>, on_hesitant<on_shuffled<32>>,
                           on_hesitant<on_threaded<3>>, on_hesitant<on_pool<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, looking_back, all);

TEST(position_word, says_where_a_fragment_ends) {
  const auto first = position_word::after_previous(10, true);
  const auto second = position_word::after_previous(10, false);
  const auto there = position_word::at(10);
  EXPECT_FALSE(position_word().is_absolute() || position_word().is_relative());
  EXPECT_TRUE(first.is_relative() && second.is_relative() && !there.is_relative());
  EXPECT_TRUE(!first.is_absolute() && !second.is_absolute() && there.is_absolute());
  for (const std::uint64_t before : {0U, 1U, 7U, 8U}) {
    EXPECT_EQ(first.end(before), (before == 0 ? 0 : 8) + 10U);
    EXPECT_EQ(second.end(before), before + 10);
    EXPECT_EQ(there.end(before), 10U);
  }
  EXPECT_TRUE(position_word::at(0).is_absolute());
  EXPECT_TRUE(position_word::after_previous(0, false).is_relative());
  constexpr std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_EQ(position_word::after_previous(large, true).end(large + 1), 2 * large + 8);
}

TEST(position_step, is_the_same_however_steps_are_put_together) {
  randomness r(10);
  for (int again = 0; again < 500; ++again) {
    const std::uint32_t n = 1 + below(r, 30);
    const auto lengths = make_lengths(n, below(r, 5), r);
    std::vector<position_step> steps;
    for (const std::uint64_t word : lengths) steps.emplace_back(position_word(word));
    while (steps.size() > 1) {
      const std::uint32_t k = below(r, static_cast<std::uint32_t>(steps.size() - 1));
      steps[k] = position_step().then(steps[k]).then(steps[k + 1]).then(position_step());
      steps.erase(steps.begin() + k + 1);
    }
    const std::uint64_t from = below(r, 100);
    std::uint64_t end = from;
    for (const std::uint64_t word : lengths) end = position_word(word).end(end);
    ASSERT_EQ(steps[0].end(from), end);
  }
  EXPECT_EQ(position_step(position_word::at(77)).end(0), 77U);
}

} // namespace
} // namespace l3::test
