// SPDX-License-Identifier: Apache-2.0
// The figures of `koto-l3 evaluate` are those of docs/robustness.md: tests/system/evaluating.py.
#include <gtest/gtest.h>

#include <set>

#include "tools/evaluate/stress.hpp"

namespace {

using namespace l3;

TEST(stress_rows, have_names_and_effects_that_there_are) {
  std::set<std::string_view> names;
  for (const stress_row& row : stress_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const simulated_effects sizes = row.sizes();
    for (const auto& effect : row.effects) {
      bool known = false;
      for (const auto& option : effect_options)
        known = known || (option.name == effect.first && sizes.*option.size == effect.second);
      EXPECT_TRUE(known) << row.name << ' ' << effect.first;
    }
  }
  EXPECT_TRUE(stress_rows().front().effects.empty());
}

} // namespace
