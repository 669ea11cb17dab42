// SPDX-License-Identifier: Apache-2.0
#include "transport/system/file_io.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/transport/store/packed_events.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

class files_written_anew : public ::testing::Test {
protected:
  [[nodiscard]] static std::string text_of(const fs::path& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  [[nodiscard]] std::error_code write(const std::string& text) const {
    return write_anew(file_, trial_, std::as_bytes(std::span(text)));
  }

  test::scratch_folder folder_;
  fs::path file_ = fs::path(folder_.path()) / "list";
  fs::path trial_ = fs::path(folder_.path()) / "list.new";
};

TEST_F(files_written_anew, have_the_new_content_and_leave_no_trial) {
  EXPECT_EQ(write("one"), std::error_code());
  std::ofstream(trial_) << "what an earlier write left";
  EXPECT_EQ(write("two"), std::error_code());
  EXPECT_EQ(text_of(file_), "two");
  EXPECT_FALSE(fs::exists(trial_));
}

TEST_F(files_written_anew, stay_as_they_are_if_that_fails) {
  fs::create_directories(file_ / "full");
  EXPECT_EQ(write("one"), std::errc::is_a_directory);
  EXPECT_TRUE(fs::exists(file_ / "full"));
  EXPECT_FALSE(fs::exists(trial_));
  fs::create_directory(trial_);
  EXPECT_EQ(write("one"), std::errc::file_exists);
  EXPECT_TRUE(fs::is_directory(trial_));
}

} // namespace
} // namespace l3
