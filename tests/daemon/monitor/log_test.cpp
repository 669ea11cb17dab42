// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace l3 {
namespace {

using namespace std::chrono_literals;

TEST(occasional, says_the_first_at_once_and_then_a_count_per_interval) {
  occasional news(10s);
  const time_point t0{};
  EXPECT_EQ(news.happened(t0), 1U);
  EXPECT_EQ(news.happened(t0 + 1s), std::nullopt);
  EXPECT_EQ(news.happened(t0 + 9s, 5), std::nullopt);
  EXPECT_EQ(news.happened(t0 + 10s), 7U);
  EXPECT_EQ(news.happened(t0 + 19s), std::nullopt);
}

TEST(occasional, tells_the_end_of_a_burst_when_asked) {
  occasional news(10s);
  const time_point t0{};
  EXPECT_EQ(news.due(t0), std::nullopt);
  EXPECT_EQ(news.happened(t0), 1U);
  EXPECT_EQ(news.happened(t0 + 1s, 3), std::nullopt);
  EXPECT_EQ(news.due(t0 + 5s), std::nullopt);
  EXPECT_EQ(news.due(t0 + 11s), 3U);
  EXPECT_EQ(news.due(t0 + 30s), std::nullopt);
}

TEST(occasional, a_lone_occurrence_after_a_pause_is_told_at_once) {
  occasional news(10s);
  EXPECT_EQ(news.happened(time_point{}), 1U);
  EXPECT_EQ(news.happened(time_point{} + 60s), 1U);
}

TEST(log, lines_carry_a_level_and_those_below_it_are_dropped) {
  testing::internal::CaptureStderr();
  start_logging("warn");
  spdlog::info("not this");
  spdlog::warn("but this");
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
  start_logging("info");
  unsetenv("JOURNAL_STREAM");
  spdlog::error("one");
  spdlog::info("two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "<3>one\n<6>two\n");
}

} // namespace
} // namespace l3
