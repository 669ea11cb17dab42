// SPDX-License-Identifier: Apache-2.0
// The cases of columns, which must pass on every executor. A program that includes this header
// names the places it tests: types with a queue, `here`, collections that the host fills, and
// `there`, collections that the kernels of the queue reach.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "gpu/columns/collection.hpp"
#include "gpu/executors/block.hpp"
#include "tests/gpu/columns/columns_layouts.hpp"
#include "tests/gpu/executors/on_executor.hpp"

namespace l3::test {

/// Reads and writes every column both by row and by column.
struct move_rows {
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t rows_per_block = 100;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, probes::const_view in, probes::view out) const {
    const std::uint32_t first = b.index() * rows_per_block;
    for_each(b, rows_per_block, [&](std::uint32_t k) {
      const std::uint32_t i = first + k;
      if (i >= in.size()) return;
      const std::uint32_t to = in.size() - 1 - i;
      out[to] = in[i];
      out[to].large = in[i].large + *in.factor;
      out.medium[to] = static_cast<std::uint16_t>(in.medium[i] + 1);
      out[to].position[2] = in.position[i][2] * 2;
      out.table[to](1, 2) = in[i].table(0, 1);
      out.odd[to].green = in.odd[i].blue;
      if (i == 0) *out.factor = *in.factor + 1;
    });
  }
};

template <class Place>
class columns_on : public on_executor<Place> {};
TYPED_TEST_SUITE_P(columns_on);

TYPED_TEST_P(columns_on, are_read_and_written_by_kernels) {
  auto queue = TypeParam::make();
  using here = typename TypeParam::template here<probes>;
  using there = typename TypeParam::template there<probes>;
  for (const std::uint32_t n : {1U, 99U, 1000U}) {
    here in(n);
    fill(in.view());
    there sent(n);
    there made(n);
    copy(queue, sent, in);
    queue.run(move_rows{}, (n + move_rows::rows_per_block - 1) / move_rows::rows_per_block,
              std::as_const(sent).view(), made.view());
    here out(n);
    copy(queue, out, made);
    ASSERT_EQ(queue.finish(), "");
    for (std::uint32_t i = 0; i < n; ++i) {
      probes::value expected = probe(n - 1 - i);
      expected.large += 1000 + n;
      ++expected.medium;
      expected.position[2] *= 2;
      expected.table(1, 2) = expected.table(0, 1);
      expected.odd.green = expected.odd.blue;
      ASSERT_TRUE(equal(expected, std::as_const(out)[i])) << "row " << i << " of " << n;
    }
    EXPECT_EQ(*out.view().factor, 1001 + n);
  }
}

TYPED_TEST_P(columns_on, are_copied_as_a_whole) {
  auto queue = TypeParam::make();
  using here = typename TypeParam::template here<probes>;
  using there = typename TypeParam::template there<probes>;
  for (const std::uint32_t n : {0U, 1U, 5000U}) {
    here in(n);
    fill(in.view());
    there first(n);
    there second(n);
    here out(n);
    copy(queue, first, in);
    copy(queue, second, first);
    copy(queue, out, second);
    ASSERT_EQ(queue.finish(), "");
    for (std::uint32_t i = 0; i < n; ++i) {
      ASSERT_TRUE(equal(probe(i), std::as_const(out)[i])) << "row " << i << " of " << n;
    }
    EXPECT_EQ(*out.view().factor, 1000 + n);
  }
  there one(1);
  EXPECT_THROW(copy(queue, one, here(2)), std::out_of_range);
}

REGISTER_TYPED_TEST_SUITE_P(columns_on, are_read_and_written_by_kernels, are_copied_as_a_whole);

} // namespace l3::test
