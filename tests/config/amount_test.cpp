// SPDX-License-Identifier: Apache-2.0
#include "config/amount.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

TEST(amount, reads_numbers_with_units) {
  EXPECT_EQ(read_amount("64 MiB", dimension::size), 64U << 20);
  EXPECT_EQ(read_amount("64MiB", dimension::size), 64U << 20);
  EXPECT_EQ(read_amount("8 kB", dimension::size), 8000U);
  EXPECT_EQ(read_amount("1.5 s", dimension::duration), 1'500'000'000U);
  EXPECT_EQ(read_amount("0.3 us", dimension::duration), 300U);
  EXPECT_EQ(read_amount("2 min", dimension::duration), 120'000'000'000U);
  EXPECT_EQ(read_amount("4 Gb/s", dimension::rate), 4'000'000'000U);
}

TEST(amount, refuses_what_is_not_exact) {
  for (const char* text :
       {"", "5", "ms", "5 m", "5  ms", "5 ms ", " 5 ms", "-5 ms", "-0 ms", "0x5 ms", "nan ms",
        "inf s", "1e3 ms", "0.5 ns", "5 MiB", "99999999999999999999 s"}) {
    EXPECT_EQ(read_amount(text, dimension::duration), std::nullopt) << text;
  }
  EXPECT_EQ(read_amount("1 s", dimension::rate), std::nullopt);
}

TEST(amount, shows_the_largest_unit_without_fraction) {
  EXPECT_EQ(show_amount(0, dimension::size), "0 B");
  EXPECT_EQ(show_amount(1500, dimension::size), "1500 B");
  EXPECT_EQ(show_amount(1U << 20, dimension::size), "1 MiB");
  EXPECT_EQ(show_amount(1'500'000'000, dimension::duration), "1500 ms");
  EXPECT_EQ(show_amount(4'000'000'000, dimension::rate), "4 Gb/s");
}

RC_GTEST_PROP(amount, what_is_shown_reads_back, ()) {
  const auto d = *rc::gen::element(dimension::size, dimension::duration, dimension::rate);
  const auto value = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 50) << *rc::gen::inRange(0, 3);
  RC_ASSERT(read_amount(show_amount(value, d), d) == value);
}

RC_GTEST_PROP(amount, any_text_is_read_or_refused, (const std::string& text)) {
  const auto value = read_amount(text, dimension::size);
  if (value) RC_ASSERT(read_amount(show_amount(*value, dimension::size), dimension::size) == value);
}

} // namespace
} // namespace l3
