// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/report.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using l3::bench::report_table;

TEST(report_table, has_a_column_for_each_key) {
  EXPECT_EQ(report_table(R"({"bench":"pack","by_n":[1,0,3],"holds":true,"limit":null,
                             "rows":[{"what":"memcpy","hot":{"bytes_per_second":5.314e9,"right":true}},
                                     {"what":"1 … 2","ratio":2.5,"hot":{"bytes_per_second":12760,"right":false}}]})"),
            "bench: pack\n"
            "by n: 1, 0, 3\n"
            "holds: yes\n"
            "limit: not measured\n"
            "\n"
            "what    hot, bytes per second  hot, right  ratio\n"
            "memcpy  5.31 G                 yes\n"
            "1 … 2   12.76 k                NO          2.5\n");
}

TEST(report_table, keeps_what_can_be_counted) {
  EXPECT_EQ(report_table(
                R"({"events":2048,"ratio":0.6931,"bytes":1234567,"problems":["a","b"],"more":[]})"),
            "events: 2048\nratio: 0.6931\nbytes: 1.23 M\nproblems: a, b\nmore: none\n");
}

TEST(report_table, puts_quartiles_in_brackets) {
  EXPECT_EQ(report_table(R"({"low_quartile":1,"rows":[{"what":"a","rate":2e6,"low_quartile":1e6,
                             "high_quartile":3e6,"of_copy":0.5}]})"),
            "low quartile: 1\n\n"
            "what  rate                      of copy\n"
            "a     2.00 M (1.00 M … 3.00 M)  0.5\n");
}

TEST(report_table, refuses_what_is_no_report) {
  for (const char* text : {"", "[]", "7", "{\"bench\": "})
    EXPECT_THROW(std::ignore = report_table(text), std::runtime_error) << text;
}

} // namespace
