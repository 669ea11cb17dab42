// SPDX-License-Identifier: Apache-2.0
#include "config/fault_text.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(fault_text, gives_each_part_its_place) {
  const fault_plan hang = read_fault("hang:every=7:for=250ms").value();
  EXPECT_EQ(hang.kind, fault_kind::hang);
  EXPECT_EQ(hang.every, 7U);
  EXPECT_EQ(hang.at + hang.from, 0U);
  EXPECT_EQ(hang.lasts, 250ms);
  EXPECT_EQ(read_fault("dead:from=9")->from, 9U);
  EXPECT_EQ(read_fault("wrong_bit:at=2")->at, 2U);
  EXPECT_EQ(read_fault("no_memory")->kind, fault_kind::no_memory);
  EXPECT_EQ(read_fault("")->kind, fault_kind::none);
}

TEST(fault_text, refuses_anything_else) {
  for (const char* text :
       {"err", "error", "error:", "error:every", "error:every=", "error:every=0", "error:every=1x",
        "error:every=1:at=2", "error:at=1:for=3 s", "hang:for=3 s", "hang:at=1:for=0 s",
        "hang:at=1:for=soon", "hang:at=1:for=1 s:for=2 s", "no_memory:at=1", ":at=1",
        "error:when=1", "error:every=-1"}) {
    EXPECT_FALSE(read_fault(text)) << text;
  }
}

} // namespace
} // namespace l3
