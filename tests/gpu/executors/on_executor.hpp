// SPDX-License-Identifier: Apache-2.0
// The base of suites whose cases run on an executor, a type with a static make() that returns a
// queue. If the executor has a why_not(), its text is the reason to skip the cases on this machine.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace l3::test {

template <class Executor>
class on_executor : public testing::Test {
protected:
  void SetUp() override {
    if constexpr (requires { Executor::why_not(); }) {
      if (const std::string why_not = Executor::why_not(); !why_not.empty())
        GTEST_SKIP() << why_not;
    }
  }
};

} // namespace l3::test
