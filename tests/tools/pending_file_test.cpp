// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"
#include "tools/command_error.hpp"

namespace {

using namespace l3;

TEST(a_file_under_the_name_of_an_output, is_known_by_its_first_64_bytes) {
  const temporary_folder folder;
  const auto stays = [&](std::size_t bytes, bool (*is_own)(std::string_view)) {
    std::ofstream(folder / "out") << std::string(bytes, 'x');
    try {
      check_replaced("test", folder / "out", is_own);
    } catch (const command_error&) {
      return true;
    }
    return false;
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
  const auto content = [&] {
    std::string got;
    std::ifstream(folder / "end") >> got;
    return got;
  };
  std::ofstream(folder / "end") << "old";
  std::ofstream(folder / "end.new") << "left by a program that was killed";
  std::filesystem::create_symlink("end", folder / "link");
  {
    const pending_file never(folder / "link");
    std::ofstream(never.path()) << "half";
  }
  EXPECT_EQ(content(), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "end.new"));
  pending_file made(folder / "link");
  std::ofstream(made.path()) << "new";
  EXPECT_EQ(content(), "old");
  made.finish();
  EXPECT_EQ(content(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST(a_pending_file, is_refused_in_a_ring_of_links) {
  const temporary_folder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_THROW(pending_file(folder / "a"), std::filesystem::filesystem_error);
}

} // namespace
