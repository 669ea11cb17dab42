// SPDX-License-Identifier: Apache-2.0
#include "transport/format/number_list.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

using list = std::vector<int>;

TEST(number_list, reads_lists_and_refuses_anything_else) {
  constexpr int most = 1023;
  EXPECT_EQ(read_number_list("0-3,8", most), (list{0, 1, 2, 3, 8}));
  EXPECT_EQ(read_number_list("5", most), list{5});
  EXPECT_EQ(read_number_list("", most), list{});
  for (const char* text : {"-1", "3-1", "1,", ",1", "1-", "a", "0-99999", "1;2", "1--2"})
    EXPECT_EQ(read_number_list(text, most), list{}) << text;
  EXPECT_EQ(read_number_list("0-1023", most).size(), 1024U);
  EXPECT_EQ(read_number_list("0-1024", most), list{});
}

TEST(number_list, shows_what_it_reads) {
  for (const char* text : {"", "0", "0-3,8", "1,3,5-6", "1022-1023"})
    EXPECT_EQ(show_number_list(read_number_list(text, 1023)), text);
}

} // namespace
} // namespace l3
