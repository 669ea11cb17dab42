// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/error_of.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tools/progress.hpp"

namespace {

using namespace l3;

TEST(a_file_under_the_name_of_an_output, is_known_by_its_first_64_bytes) {
  const temporary_folder folder;
  const auto stays = [&](std::size_t bytes, bool (*is_own)(std::string_view)) {
    write_file(folder / "out", std::string(bytes, 'x'));
    return error_of([&] { check_replaced("test", folder / "out", is_own); }) != "";
  };
  const auto has_63 = [](std::string_view begin) { return begin == std::string(63, 'x'); };
  const auto has_64 = [](std::string_view begin) { return begin == std::string(64, 'x'); };
  EXPECT_FALSE(stays(63, has_63));
  EXPECT_FALSE(stays(64, has_64));
  EXPECT_FALSE(stays(65, has_64)) << "no more are read";
  EXPECT_TRUE(stays(64, has_63));
}

TEST(a_pending_file, gets_its_name_at_the_end_and_leaves_a_link) {
  const temporary_folder folder;
  std::ofstream(folder / "end") << "old";
  std::ofstream(folder / "end.new") << "left by a program that was killed";
  std::filesystem::create_symlink("end", folder / "link");
  {
    const pending_file never(folder / "link");
    std::ofstream(never.path()) << "half";
  }
  EXPECT_EQ(contents(folder / "end"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "end.new"));
  pending_file made(folder / "link");
  std::ofstream(made.path()) << "new";
  EXPECT_EQ(contents(folder / "end"), "old");
  made.finish();
  EXPECT_EQ(contents(folder / "end"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  std::filesystem::create_symlink("ring", folder / "ring");
  EXPECT_THROW(pending_file(folder / "ring"), std::filesystem::filesystem_error);
}

TEST(progress_text, says_how_far_how_fast_and_how_long_as_far_as_it_knows) {
  using namespace std::chrono_literals;
  EXPECT_EQ(progress_text("verify", "events", 300, 1000, 3s),
            "verify 300 of 1000 events (30 %), 100 events/s, 8 s left");
  EXPECT_EQ(progress_text("verify", "events", 1000, 1'000'000, 10s),
            "verify 1000 of 1000000 events (0 %), 100 events/s, 166:31 min left");
  EXPECT_EQ(progress_text("info", "bytes", 1'500'000'000, 3'000'000'000, 15s),
            "info 1.5 of 3.0 GB (50 %), 100.0 MB/s, 16 s left");
  EXPECT_EQ(progress_text("receive", "events", 500, 0, 2s), "receive 500 events, 250 events/s");
  EXPECT_EQ(progress_text("verify", "events", 0, 1000, 2s), "verify 0 of 1000 events (0 %)");
  EXPECT_EQ(progress_text("verify", "events", 1000, 1000, 2s),
            "verify 1000 of 1000 events (100 %), 500 events/s");
}

} // namespace
