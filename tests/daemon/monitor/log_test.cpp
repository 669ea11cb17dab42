// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace l3 {
namespace {

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
