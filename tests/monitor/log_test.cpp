// SPDX-License-Identifier: Apache-2.0
#include "monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <regex>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace l3 {
namespace {

TEST(log, lines_carry_time_zone_and_level_and_those_below_the_level_are_dropped) {
  testing::internal::CaptureStderr();
  start_logging("test", "warn");
  spdlog::info("not this");
  spdlog::warn("but this");
  spdlog::default_logger()->flush();
  const std::string lines = testing::internal::GetCapturedStderr();
  const std::regex form(
      R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d warning: but this\n)");
  EXPECT_TRUE(std::regex_match(lines, form)) << lines;
}

TEST(log, under_the_service_manager_lines_carry_a_priority_and_no_time) {
  testing::internal::CaptureStderr();
  struct stat at {};
  fstat(STDERR_FILENO, &at);
  const std::string stream = std::to_string(at.st_dev) + ":" + std::to_string(at.st_ino);
  EXPECT_TRUE(writes_to_journal(stream.c_str()));
  EXPECT_FALSE(writes_to_journal((stream + "0").c_str()));
  EXPECT_FALSE(writes_to_journal(nullptr));
  say_last("by hand\nwithout");
  setenv("JOURNAL_STREAM", stream.c_str(), 1);
  say_last("last\nwords"); // ends the logger
  start_logging("test", "info");
  unsetenv("JOURNAL_STREAM");
  spdlog::error("one");
  spdlog::info("two");
  spdlog::default_logger()->flush();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "by hand\nwithout\n<2>last\n<2>words\n<3>one\n<6>two\n");
}

} // namespace
} // namespace l3
