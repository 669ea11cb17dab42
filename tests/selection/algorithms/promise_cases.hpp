// SPDX-License-Identifier: Apache-2.0
// The base of tests that damage the output of an algorithm and expect broken_promise() to name the
// damage.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace l3::test {

class promise_cases : public testing::Test {
protected:
  /// What broken_promise() says of the output; empty if it keeps all promises.
  [[nodiscard]] virtual std::string broken() const = 0;

  /// Expects the broken promise `what` with `value` in the cell, and none without it.
  template <class Cell, class Value>
  void expect_noticed(Cell& cell, Value value, const std::string& what) {
    const Cell before = cell;
    cell = static_cast<Cell>(value);
    EXPECT_EQ(broken(), what);
    cell = before;
    EXPECT_EQ(broken(), "");
  }
};

} // namespace l3::test
