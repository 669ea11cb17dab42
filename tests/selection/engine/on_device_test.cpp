// SPDX-License-Identifier: Apache-2.0
// The whole selection on whole events must give on a device what it gives on the CPU; and what is
// kept of the events of lines that limit it must be what the page says. L3_TESTED_DEVICE names the
// backend.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/executors/device.hpp"
#include "tests/selection/engine/payload_textbook.hpp"
#include "tests/selection/histograms/histogram_cases.hpp"

namespace l3::test {
namespace {

constexpr compute_settings device{backend::L3_TESTED_DEVICE, 0};
constexpr compute_settings cpu{backend::serial, 0};

/// Without a device its code is interpreted, and AdaptiveCpp's library makes a fiber of each lane:
/// both take their time.
bool is_slow() {
  return device.where != backend::cuda || std::getenv("L3_DEVICE_SCHEDULE") != nullptr;
}

class selection_on_device : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string why_not = why_no_device_here(why_no_device(device)); !why_not.empty())
      GTEST_SKIP() << why_not;
  }
};

TEST_F(selection_on_device, decides_as_on_the_cpu_in_every_batch) {
  const small_selecting s;
  const auto events = make_selected_events(is_slow() ? 64 : 300, 3);
  const auto expected = s.select(cpu, events, 300, 1, 1);
  EXPECT_GT(share_kept(expected), events.size() / 10);
  EXPECT_LT(share_kept(expected), events.size() * 9 / 10);
  for (const std::uint32_t batch : {1U, 7U, 64U}) {
    for (const std::uint32_t frames : {1U, 3U})
      EXPECT_EQ(s.select(device, events, batch, frames, 6), expected);
  }
}

TEST_F(selection_on_device, decides_as_on_the_cpu_without_vetoes) {
  const small_selecting s;
  const auto events = make_selected_events(is_slow() ? 32 : 400, 4);
  const auto& without = sequence_without_vetoes;
  EXPECT_EQ(s.select(device, events, 50, 1, 1, without), s.select(cpu, events, 50, 1, 1, without));
}

TEST_F(selection_on_device, makes_the_histograms_of_the_cpu) {
  const small_selecting s;
  const auto events = make_selected_events(is_slow() ? 64 : 300, 5, 3);
  const auto expected = count_histograms(s, cpu, events, 300, 1, 1, 2);
  for (const std::uint32_t batch : {7U, 64U})
    EXPECT_EQ(count_histograms(s, device, events, batch, 2, 6, 2), expected);
  const auto& without = sequence_without_vetoes;
  EXPECT_EQ(count_histograms(s, device, events, 64, 1, 6, 1, without),
            count_histograms(s, cpu, events, 64, 1, 6, 1, without));
}

TEST_F(selection_on_device, decides_as_on_the_cpu_on_very_many_events) {
  if (is_slow()) GTEST_SKIP() << "10^5 events want a device that is not interpreted";
  const small_selecting s;
  for (std::uint32_t turn = 0; turn < 50; ++turn) {
    const auto events = make_selected_events(2000, 100 + turn);
    const auto expected = s.select(cpu, events, 100, 1, turn);
    ASSERT_EQ(s.select(device, events, 1 + 97 * (turn % 5), 1 + turn % 4, turn), expected);
  }
}

TEST_F(selection_on_device, keeps_the_payloads_of_the_textbook) {
  const auto events = make_selected_events(is_slow() ? 96 : 1000, 21);
  const auto count = expect_payloads(cpu, events, 50, 1);
  for (const std::uint64_t n : count) EXPECT_GT(n, 0U); // each payload, and control events
  EXPECT_EQ(expect_payloads(device, events, 17, 2), count);
}

/// Whole boards are groups of the strong codec, and the others have KOTO records.
TEST_F(selection_on_device, keeps_the_payloads_of_the_textbook_by_the_strong_codec) {
  const auto events = make_selected_events(is_slow() ? 24 : 400, 23);
  const auto count = expect_payloads(cpu, events, 50, 1, codec_id::strong);
  EXPECT_GT(count[static_cast<std::size_t>(event_payload::suppressed)], 1U);
  EXPECT_EQ(expect_payloads(device, events, 17, 2, codec_id::strong), count);
}

} // namespace
} // namespace l3::test
