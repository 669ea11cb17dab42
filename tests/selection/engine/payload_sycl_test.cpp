// SPDX-License-Identifier: Apache-2.0
// What is kept of the events of lines that limit it must be on SYCL's device what the page says.
#include <gtest/gtest.h>

#include "tests/gpu/executors/device.hpp"
#include "tests/selection/engine/payload_textbook.hpp"

namespace l3::test {
namespace {

/// Few events: AdaptiveCpp's library makes a fiber of each lane.
class payloads_on_sycl : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string why_not = why_no_device_here(why_no_sycl()); !why_not.empty())
      GTEST_SKIP() << why_not;
  }
};

TEST_F(payloads_on_sycl, are_those_of_the_textbook) {
  const auto events = make_selected_events(96, 21);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1);
  for (const std::uint64_t n : count) EXPECT_GT(n, 0U); // each payload, and control events
  EXPECT_EQ(expect_payloads({backend::sycl, 0}, events, 17, 2), count);
}

TEST_F(payloads_on_sycl, of_the_strong_codec_are_those_of_the_textbook) {
  const auto events = make_selected_events(48, 23);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1, codec_id::strong);
  EXPECT_GT(count[static_cast<std::size_t>(event_payload::suppressed)], 1U);
  EXPECT_EQ(expect_payloads({backend::sycl, 0}, events, 17, 2, codec_id::strong), count);
}

} // namespace
} // namespace l3::test
