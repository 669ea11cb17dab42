// SPDX-License-Identifier: Apache-2.0
#include "monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <regex>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace l3 {
namespace {

TEST(log, lines_carry_a_level_and_those_below_it_are_dropped) {
  testing::internal::CaptureStderr();
  start_logging("test", "warn");
  spdlog::info("not this");
  spdlog::warn("but this");
  spdlog::default_logger()->flush();
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines.find("not this"), std::string::npos);
  EXPECT_NE(lines.find(" warning: but this\n"), std::string::npos) << lines;
}

TEST(log, under_the_service_manager_lines_carry_a_priority_and_no_time) {
  testing::internal::CaptureStderr();
  struct stat at {};
  fstat(STDERR_FILENO, &at);
  const std::string stream = std::to_string(at.st_dev) + ":" + std::to_string(at.st_ino);
  EXPECT_TRUE(writes_to_journal(stream.c_str()));
  EXPECT_FALSE(writes_to_journal((stream + "0").c_str()));
  EXPECT_FALSE(writes_to_journal(nullptr));
  setenv("JOURNAL_STREAM", stream.c_str(), 1);
  start_logging("test", "info");
  unsetenv("JOURNAL_STREAM");
  spdlog::error("one");
  spdlog::info("two");
  spdlog::default_logger()->flush();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "<3>one\n<6>two\n");
}

TEST(log, the_last_words_carry_a_priority_too_each_line_its_own) {
  testing::internal::CaptureStderr();
  say_last("one\ntwo");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\ntwo\n");
  testing::internal::CaptureStderr();
  struct stat at {};
  fstat(STDERR_FILENO, &at);
  setenv("JOURNAL_STREAM", (std::to_string(at.st_dev) + ":" + std::to_string(at.st_ino)).c_str(),
         1);
  say_last("one\ntwo");
  unsetenv("JOURNAL_STREAM");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "<2>one\n<2>two\n");
}

TEST(log, lines_of_a_clock_before_1970_carry_its_beginning) {
  const std::regex beginning(R"(19(69|70)-\d\d-\d\d \d\d:\d\d:01\.000 .*\n)");
  for (const int before : {1500, 86'400'500}) {
    testing::internal::CaptureStderr();
    start_logging("test", "info");
    spdlog::default_logger()->log(spdlog::log_clock::time_point(-std::chrono::milliseconds(before)),
                                  spdlog::source_loc{}, spdlog::level::info, "early");
    spdlog::default_logger()->flush();
    const std::string line = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(std::regex_match(line, beginning)) << line;
  }
}

TEST(log, lines_carry_their_time_with_its_zone) {
  testing::internal::CaptureStderr();
  start_logging("test", "info");
  spdlog::info("now");
  spdlog::default_logger()->flush();
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d info: now\n)")))
      << line;
}

} // namespace
} // namespace l3
