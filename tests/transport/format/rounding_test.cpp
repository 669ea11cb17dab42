// SPDX-License-Identifier: Apache-2.0
#include "transport/format/rounding.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

namespace l3 {
namespace {

/// Each sample of 16 bits under each error, against the rule in plain divisions; also where the
/// range of samples ends.
TEST(rounding, keeps_every_sample_within_its_error) {
  for (std::uint32_t error = 1; error <= most_greatest_error; ++error) {
    const sample_rounding by(error);
    for (const std::uint32_t largest : {0x3fffU, 0xffffU}) {
      std::uint32_t before = 0;
      for (std::uint32_t sample = 0; sample <= largest; ++sample) {
        const std::uint32_t multiple = by.multiple_of(sample);
        const std::uint32_t back = rounded_sample(multiple, error, largest);
        const auto off =
            std::abs(static_cast<std::int32_t>(back) - static_cast<std::int32_t>(sample));
        ASSERT_EQ(multiple, (sample + error) / (2 * error + 1));
        ASSERT_LE(back, largest);
        ASSERT_LE(static_cast<std::uint32_t>(off), error) << sample << " within " << error;
        // So that extremes of multiples are those of extremes, and no farther apart.
        ASSERT_TRUE(multiple == before || multiple == before + 1);
        before = multiple;
      }
    }
  }
}

} // namespace
} // namespace l3
