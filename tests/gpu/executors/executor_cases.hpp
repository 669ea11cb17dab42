// SPDX-License-Identifier: Apache-2.0
// The cases that every executor must pass alike. A program that includes this header names the
// executors it tests: types with a static make() that returns a queue.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/block.hpp"
#include "gpu/memory/column.hpp"
#include "tests/gpu/executors/lent_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"
#include "tests/gpu/executors/shared_words.hpp"

namespace l3::test {

/// Adds 1 to each of its block's items.
struct visit {
  static constexpr std::uint32_t width = 64;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, std::uint32_t n, column<std::uint32_t> out) const {
    for_each(b, n, [&](std::uint32_t i) { out[b.index() * n + i] += i + 1; });
  }
};

/// Adds 1 to each item in two dimensions.
struct visit_table {
  static constexpr std::uint32_t width = 64;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, std::uint32_t n, std::uint32_t m,
                        column<std::uint32_t> out) const {
    for_each(b, n, m,
             [&](std::uint32_t i, std::uint32_t j) { out[i * m + j] += 1000 * i + j + 1; });
  }
};

/// Reverses the items of its block through shared memory, twice, so that lanes read what other
/// lanes wrote.
struct reverse {
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t items = 300;
  struct shared {
    std::uint64_t first[items];
    std::uint64_t second[items];
  };
  template <block B>
  L3_FN void operator()(const B& b, shared& s, column<std::uint64_t> out) const {
    for_each(b, items, [&](std::uint32_t i) { s.first[i] = std::uint64_t{1000} * b.index() + i; });
    b.sync();
    for_each(b, items, [&](std::uint32_t i) { s.second[i] = s.first[items - 1 - i] + s.first[0]; });
    b.sync();
    for_each(b, items,
             [&](std::uint32_t i) { out[b.index() * items + i] = s.second[items - 1 - i]; });
  }
};

/// n zeroed values in memory that the kernels of the queue can reach.
template <class T, class Queue>
class reachable {
public:
  reachable(Queue& queue, std::uint32_t n) : size_(n), memory_(queue, n * sizeof(T)) {}
  [[nodiscard]] column<T> view() const {
    return {reinterpret_cast<T*>(memory_.bytes().data()), size_};
  }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(size_);
    memory_.read(values.data());
    return values;
  }

private:
  std::uint32_t size_;
  lent_memory<Queue> memory_;
};

template <class Executor>
class executors : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(executors);

TYPED_TEST_P(executors, visit_every_item_once) {
  auto queue = TypeParam::make();
  for (const std::uint32_t n : {1U, 31U, 32U, 33U, 255U, 256U, 257U}) {
    for (const std::uint32_t blocks : {1U, 7U}) {
      reachable<std::uint32_t, decltype(queue)> seen(queue, n * blocks);
      queue.run(visit{}, blocks, n, seen.view());
      const auto values = seen.read();
      for (std::uint32_t k = 0; k < n * blocks; ++k) ASSERT_EQ(values[k], k % n + 1);
    }
  }
}

TYPED_TEST_P(executors, visit_every_cell_of_a_table_once) {
  auto queue = TypeParam::make();
  constexpr std::uint32_t n = 13;
  constexpr std::uint32_t m = 16;
  reachable<std::uint32_t, decltype(queue)> seen(queue, n * m);
  queue.run(visit_table{}, 1, n, m, seen.view());
  const auto values = seen.read();
  for (std::uint32_t k = 0; k < n * m; ++k) ASSERT_EQ(values[k], 1000 * (k / m) + k % m + 1);
}

TYPED_TEST_P(executors, may_have_nothing_to_do) {
  auto queue = TypeParam::make();
  reachable<std::uint32_t, decltype(queue)> seen(queue, 1);
  queue.run(visit{}, 0, 1U, seen.view());
  queue.run(visit{}, 1, 0U, seen.view());
  EXPECT_EQ(seen.read()[0], 0U);
}

TYPED_TEST_P(executors, share_memory_within_a_block) {
  auto queue = TypeParam::make();
  constexpr std::uint32_t blocks = 20;
  reachable<std::uint64_t, decltype(queue)> out(queue, blocks * reverse::items);
  for (int again = 0; again < 3; ++again) {
    queue.run(reverse{}, blocks, out.view());
    const auto values = out.read();
    for (std::uint32_t k = 0; k < values.size(); ++k) {
      const std::uint64_t base = std::uint64_t{1000} * (k / reverse::items);
      ASSERT_EQ(values[k], 2 * base + k % reverse::items);
    }
  }
}

TYPED_TEST_P(executors, use_words_of_shared_memory_at_once) {
  using kernel = use_shared_words;
  auto queue = TypeParam::make();
  constexpr std::uint32_t blocks = 5;
  reachable<kernel::results, decltype(queue)> out(queue, blocks);
  queue.run(kernel{}, blocks, out.view());
  for (const kernel::results& r : out.read()) {
    EXPECT_EQ(r.last, kernel::items);
    EXPECT_EQ(r.sum, std::uint64_t{kernel::items} * (kernel::items - 1) / 2 * kernel::step);
    EXPECT_EQ(r.balance, 0U);
    EXPECT_EQ(r.of_all[0], r.sum);
    EXPECT_EQ(r.of_all[1], kernel::items);
    EXPECT_EQ(r.of_some[0][0] + r.of_some[1][0] + r.of_some[2][0], r.sum);
    for (std::uint32_t k = 0; k < 3; ++k)
      EXPECT_EQ(r.of_some[k][1], (kernel::items + 2 - k) / 3) << k;
    EXPECT_EQ(r.least, 0U);
    EXPECT_EQ(r.most, (kernel::items - 1) * (kernel::step >> 16));
    EXPECT_GT(r.falling, 1U);
    EXPECT_GT(r.rising, 1U);
    EXPECT_LT(r.falling, kernel::items / 4);
    EXPECT_LT(r.rising, kernel::items / 4);
    for (std::uint32_t i = 0; i < kernel::items; ++i) {
      ASSERT_EQ(r.places[i], 1U);
      ASSERT_TRUE((r.seen[i / 32] >> i % 32 & 1) != 0);
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(executors, visit_every_item_once, visit_every_cell_of_a_table_once,
                            may_have_nothing_to_do, share_memory_within_a_block,
                            use_words_of_shared_memory_at_once);

} // namespace l3::test
