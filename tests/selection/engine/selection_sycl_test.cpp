// SPDX-License-Identifier: Apache-2.0
// The whole selection on whole events must give on SYCL's device what it gives on the CPU.
#include <string>

#include <gtest/gtest.h>

#include "tests/gpu/executors/device.hpp"
#include "tests/selection/histograms/histogram_cases.hpp"

namespace l3::test {
namespace {

class selection_on_sycl : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string why_not = why_no_device_here(why_no_sycl()); !why_not.empty())
      GTEST_SKIP() << why_not;
  }
};

TEST_F(selection_on_sycl, decides_as_on_the_cpu_in_every_batch) {
  const small_selecting s;
  const auto events = make_selected_events(64, 3);
  const auto expected = s.select({backend::serial, 0}, events, 300, 1, 1);
  EXPECT_GT(share_kept(expected), events.size() / 10);
  EXPECT_LT(share_kept(expected), events.size() * 9 / 10);
  for (const std::uint32_t batch : {7U, 64U})
    EXPECT_EQ(s.select({backend::sycl, 0}, events, batch, 3, 6), expected);
}

TEST_F(selection_on_sycl, makes_the_histograms_of_the_cpu) {
  const small_selecting s;
  const auto events = make_selected_events(64, 5, 3);
  const auto expected = count_histograms(s, {backend::serial, 0}, events, 300, 1, 1, 2);
  for (const std::uint32_t batch : {7U, 64U})
    EXPECT_EQ(count_histograms(s, {backend::sycl, 0}, events, batch, 2, 6, 2), expected);
}

} // namespace
} // namespace l3::test
