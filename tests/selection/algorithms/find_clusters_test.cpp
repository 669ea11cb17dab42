// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/find_clusters_cases.hpp"

#include <utility>

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, clustering, cpu_executors);

TEST(neighbours, are_within_reach_in_both_directions) {
  const std::vector<crystal_entry> crystals = {{0, 0, 0},     {700, -700, 0}, {701, 0, 0},
                                               {0, -701, 0},  {-700, 0, 0},   {-32768, 0, 0},
                                               {32767, 0, 0}, {350, 0, 0}};
  const neighbour_table t = find_neighbours(crystals, 700);
  ASSERT_EQ(t.crystals.size(), crystals.size() + 1);
  const auto of = [&](std::size_t i) {
    return std::vector<std::uint16_t>(t.neighbours.begin() + t.crystals[i].first_neighbour,
                                      t.neighbours.begin() + t.crystals[i + 1].first_neighbour);
  };
  using list = std::vector<std::uint16_t>;
  EXPECT_EQ(of(0), list{});
  EXPECT_EQ(of(1), list{0});
  EXPECT_EQ(of(2), list{1});
  EXPECT_EQ(of(3), list{1});
  EXPECT_EQ(of(4), list{0});
  EXPECT_EQ(of(5), list{});
  EXPECT_EQ(of(6), list{});
  EXPECT_EQ(of(7), (list{0, 1, 2}));
  EXPECT_EQ(t.crystals[1].x, 700);
  EXPECT_EQ(t.crystals[1].y, -700);
  EXPECT_EQ(find_neighbours({}, 700).crystals.size(), 1U);
}

/// A block that lets another lane hang a root elsewhere, once, right before its own lane hangs it.
struct interrupted_block : solo_block {
  explicit interrupted_block(std::function<void()> f) : solo_block(0), interrupt(std::move(f)) {}

  friend std::uint32_t fetch_min_within(const interrupted_block& b, std::uint32_t* at,
                                        std::uint32_t n) {
    const auto interrupt = std::exchange(b.interrupt, nullptr);
    if (interrupt) interrupt();
    return l3::fetch_min_within(solo_block(0), at, n);
  }

  mutable std::function<void()> interrupt;
};

TEST(disjoint_sets, lose_no_link_when_two_lanes_hang_one_root) {
  constexpr std::uint32_t n = 6;
  const solo_block other(0);
  for (std::uint32_t code = 0; code < n * n * n * n; ++code) {
    const std::uint32_t mine[] = {code % n, code / n % n};
    const std::uint32_t theirs[] = {code / n / n % n, code / n / n / n};
    disjoint_sets<8> sets;
    sets.clear(other);
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_TRUE(sets.insert(other, i));
    bool interrupted = false;
    const interrupted_block b([&] {
      interrupted = true;
      sets.unite(other, theirs[0], theirs[1]);
    });
    sets.unite(b, mine[0], mine[1]);
    if (!interrupted) continue;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto is_in = [&](const std::uint32_t* pair) { return i == pair[0] || i == pair[1]; };
      const auto low = [](const std::uint32_t* pair) { return std::min(pair[0], pair[1]); };
      const bool meet = theirs[0] == mine[0] || theirs[0] == mine[1] || theirs[1] == mine[0] ||
                        theirs[1] == mine[1];
      std::uint32_t expected = i;
      if (is_in(mine)) expected = low(mine);
      if (is_in(theirs)) expected = low(theirs);
      if (meet && (is_in(mine) || is_in(theirs))) expected = std::min(low(mine), low(theirs));
      ASSERT_EQ(sets.root_of(other, i), expected) << code;
    }
  }
}

} // namespace
} // namespace l3::test
