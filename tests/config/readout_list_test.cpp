// SPDX-License-Identifier: Apache-2.0
#include "config/readout_list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace l3 {
namespace {

std::string complaint_about(std::string_view entry) {
  const auto read = read_crates(entry);
  const auto* text = std::get_if<std::string>(&read);
  return text ? *text : "";
}

TEST(readout_list, shows_the_experiments_readout_in_four_entries) {
  const std::vector<std::string> expected{"0-10: 16 x 125 MHz", "11: 12 x 125 MHz",
                                          "12-14: 16 x 125 MHz", "15-17: 16 x 500 MHz"};
  EXPECT_EQ(show_crates(readout::koto()), expected);
}

TEST(readout_list, says_what_is_wrong_with_an_entry) {
  EXPECT_EQ(complaint_about("11: 17 x 125 MHz"), "has 17 boards; a crate has 1..16");
  EXPECT_EQ(complaint_about("11: 0 x 125 MHz"), "has 0 boards; a crate has 1..16");
  EXPECT_EQ(complaint_about("5-3: 16 x 125 MHz"), "lists its crates in descending order");
  EXPECT_EQ(complaint_about("250-256: 16 x 125 MHz"), "names crate 256; crates are 0..255");
  EXPECT_EQ(complaint_about("1: 16 x 250 MHz"),
            "samples at 250 MHz; boards sample at 125 or 500 MHz");
  for (const char* entry : {"", "1", "1:", "1: 16", "1: 16 x", "1: 16 x 125", "1: 16 x 125 MHz!",
                            "-1: 16 x 125 MHz", "1-: 16 x 125 MHz"}) {
    EXPECT_NE(complaint_about(entry).find("is not like"), std::string::npos) << entry;
  }
}

RC_GTEST_PROP(readout_list, what_is_shown_reads_back, ()) {
  readout crates;
  const auto numbers =
      *rc::gen::unique<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  for (const std::uint8_t n : numbers) {
    crates.crates.push_back(
        {n, *rc::gen::inRange<std::uint8_t>(1, 17),
         *rc::gen::element(board_kind::sampling_125_mhz, board_kind::sampling_500_mhz)});
  }
  readout again;
  for (const std::string& entry : show_crates(crates)) {
    const auto read = std::get<std::vector<crate_readout>>(read_crates(entry));
    again.crates.insert(again.crates.end(), read.begin(), read.end());
  }
  RC_ASSERT(again == crates);
}

} // namespace
} // namespace l3
