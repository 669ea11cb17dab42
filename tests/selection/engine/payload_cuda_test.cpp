// SPDX-License-Identifier: Apache-2.0
// What is kept of the events of lines that limit it must be on a device what the page says.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/gpu/executors/device.hpp"
#include "tests/selection/engine/payload_textbook.hpp"

namespace l3::test {
namespace {

TEST(payloads_on_device, are_those_of_the_textbook) {
  if (const std::string why_not = why_no_device_here(why_no_cuda()); !why_not.empty())
    GTEST_SKIP() << why_not;
  const bool is_interpreted = std::getenv("L3_DEVICE_SCHEDULE") != nullptr; // which takes its time
  const auto events = make_selected_events(is_interpreted ? 96 : 1000, 21);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1);
  for (const std::uint64_t n : count) EXPECT_GT(n, 0U); // each payload, and control events
  EXPECT_EQ(expect_payloads({backend::cuda, 0}, events, 17, 2), count);
}

/// Whole boards are groups of the strong codec, and the others have KOTO records.
TEST(payloads_on_device, of_the_strong_codec_are_those_of_the_textbook) {
  if (const std::string why_not = why_no_device_here(why_no_cuda()); !why_not.empty())
    GTEST_SKIP() << why_not;
  const bool is_interpreted = std::getenv("L3_DEVICE_SCHEDULE") != nullptr;
  const auto events = make_selected_events(is_interpreted ? 24 : 400, 23);
  const auto count = expect_payloads({backend::serial, 0}, events, 50, 1, codec_id::strong);
  EXPECT_GT(count[static_cast<std::size_t>(event_payload::suppressed)], 1U);
  EXPECT_EQ(expect_payloads({backend::cuda, 0}, events, 17, 2, codec_id::strong), count);
}

} // namespace
} // namespace l3::test
