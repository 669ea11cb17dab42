// SPDX-License-Identifier: Apache-2.0
#include "transport/format/crc32c.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "transport/format/block.hpp"

namespace l3 {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(crc32c, has_the_check_value) { EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U); }

TEST(crc32c, of_nothing_is_zero) { EXPECT_EQ(crc32c({}), 0U); }

RC_GTEST_PROP(crc32c, chains, (const std::vector<std::uint8_t>& data)) {
  const auto all = std::as_bytes(std::span(data));
  const auto cut = *rc::gen::inRange<std::size_t>(0, data.size() + 1);
  RC_ASSERT(crc32c(all.subspan(cut), crc32c(all.first(cut))) == crc32c(all));
}

/// Long pieces take other instructions than single bytes.
TEST(crc32c, of_any_length_is_that_of_its_bytes) {
  std::vector<std::byte> data(7000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * i >> 3);
  const std::span<const std::byte> all(data);
  std::uint32_t of_bytes = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    ASSERT_EQ(crc32c(all.first(n)), of_bytes) << n;
    of_bytes = crc32c(all.subspan(n, 1), of_bytes);
  }
}

TEST(crc32c, of_a_header_leaves_out_its_last_word) {
  link_header h;
  const auto before = header_crc(h);
  h.header_crc = 1;
  EXPECT_EQ(header_crc(h), before);
  h.credit = 1;
  EXPECT_NE(header_crc(h), before);
}

} // namespace
} // namespace l3
