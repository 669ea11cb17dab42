// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/measure_pulses_cases.hpp"

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, measuring_pulses, cpu_executors);

// The definition, which the cases hold against the kernel, gives the pulses that were made.

using samples = std::vector<int>;

samples slow_samples(
    const std::vector<std::pair<double, double>>& times_and_heights,
    const std::function<int(int)>& baseline = [](int) { return 500; }) {
  samples w;
  for (int k = 0; k < 64; ++k) {
    double s = baseline(k);
    for (const auto& [time, height] : times_and_heights) s += height * slow_shape(8 * k - time);
    w.push_back(static_cast<int>(std::min(s, 16383.0)));
  }
  return w;
}

TEST(pulses_textbook, says_where_slow_pulses_are_and_what_is_wrong_with_them) {
  const pulse first = textbook_slow(slow_samples({{204, 1000}}), 40);
  EXPECT_EQ(first.pedestal, 2000);
  EXPECT_NEAR(first.peak, 1500, 15);
  EXPECT_NEAR(first.peak_sample, 25.5, 0.5);
  EXPECT_NEAR(first.time / 256.0, (204 - 30) / 8.0, 0.2);
  EXPECT_NEAR(first.sum, 4 * 10.8 * 1000, 4 * 10.8 * 30);
  EXPECT_EQ(first.flags, pulse_found);
  const auto flags = [](const std::vector<std::pair<double, double>>& pulses) {
    return textbook_slow(slow_samples(pulses), 40).flags;
  };
  EXPECT_EQ(describe(textbook_slow(samples(64, 500), 40)),
            describe({2000, 500, 0, pulse_flat, 0, 0}));
  EXPECT_EQ(flags({{204, 39}}), 0);
  EXPECT_EQ(flags({{204, 1000}, {400, 500}}), pulse_found | pulse_second);
  EXPECT_EQ(flags({{80, 1000}}), pulse_second) << "its tail reaches into the time window";
  EXPECT_NE(flags({{204, 60000}}) & pulse_saturated, 0);
  EXPECT_EQ(flags({{204, 16000}}), pulse_found) << "its tails exceed the threshold far away";
  // A slow baseline is no energy.
  const pulse flat = textbook_slow(slow_samples({{200, 1000}}), 40);
  for (const int slope : {-3, 2}) {
    const pulse p =
        textbook_slow(slow_samples({{200, 1000}}, [=](int k) { return 800 + slope * k; }), 40);
    EXPECT_EQ(p.sum, flat.sum);
    EXPECT_NEAR(p.time, flat.time, 40); // 1.25 ns
  }
  const auto rising = [](int k) { return 500 + 3 * std::min(k, 30); }; // up to 80 over its first
  EXPECT_EQ(describe(textbook_slow(slow_samples({}, rising), 40)),
            describe({2042, 590, 0, pulse_second, 0, 0}));
  EXPECT_EQ(textbook_slow(slow_samples({{200, 60}}, rising), 40).flags, pulse_found | pulse_second);
}

TEST(pulses_textbook, says_where_fast_pulses_are) {
  samples fast(256, 300);
  for (std::size_t k = 0; k < 10; ++k) fast[25 * k + 10] = 700;
  const auto rows = textbook_fast(fast, 40);
  const std::uint8_t kept[] = {60, 85, 110, 135};
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_EQ(describe(rows[j]), describe({1200, 700, kept[j], pulse_found | pulse_second,
                                           static_cast<std::uint16_t>(256 * kept[j] - 128), 1600}));
  }
  fast.assign(256, 300);
  fast[150] = 700;
  fast[151] = 510;
  fast[152] = 540; // on the tail, less than 40 above the lowest sample before
  fast[153] = 480;
  fast[154] = 520;
  const auto two = textbook_fast(fast, 40);
  EXPECT_EQ(two[0].peak_sample, 150);
  EXPECT_EQ(two[1].peak_sample, 154);
  EXPECT_EQ(two[1].time, 256 * 153 + 128);
  EXPECT_EQ(two[2].flags, 0);
  for (int k = 0; k < 256; ++k) fast[static_cast<std::size_t>(k)] = 300 + std::min(k, 150);
  EXPECT_EQ(textbook_fast(fast, 40)[0].sum, 0) << "a slow baseline is no energy";
}

} // namespace
} // namespace l3::test
