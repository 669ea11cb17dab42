// SPDX-License-Identifier: Apache-2.0
#include "tools/pending_file.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
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

TEST(a_pending_file, leaves_a_link_also_where_it_leads_to_nothing) {
  const temporary_folder folder;
  const auto write = [&](const char* text) {
    pending_file made(folder / "link");
    std::ofstream(made.path()) << text;
    made.finish();
  };
  std::filesystem::create_symlink("second", folder / "link");
  std::filesystem::create_symlink("end", folder / "second");
  for (const auto* const text : {"made", "replaced"}) {
    write(text);
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link")) << text;
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "second")) << text;
    std::string got;
    std::ifstream(folder / "end") >> got;
    EXPECT_EQ(got, text);
  }
}

/// Both would write through one NAME.new, and the first to finish would give its name to a mixture.
TEST(a_pending_file, is_refused_while_another_program_writes_it) {
  const temporary_folder folder;
  const auto content = [&] {
    std::string got;
    std::ifstream(folder / "out") >> got;
    return got;
  };
  {
    pending_file first(folder / "out");
    std::ofstream(first.path()) << "first";
    EXPECT_THROW(pending_file(folder / "out"), std::runtime_error);
    EXPECT_THROW((void)hold_new_file(first.path()), std::runtime_error);
    first.finish();
    EXPECT_EQ(content(), "first");
    pending_file second(folder / "out");
    std::ofstream(second.path()) << "second";
    second.finish();
  }
  EXPECT_EQ(content(), "second");
  std::ofstream(folder / "out.new") << "left by a program that was killed";
  pending_file third(folder / "out");
  std::ofstream(third.path()) << "third";
  third.finish();
  EXPECT_EQ(content(), "third");
}

TEST(a_pending_file, is_refused_in_a_ring_of_links) {
  const temporary_folder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  EXPECT_THROW((void)end_of_links(folder / "a"), std::filesystem::filesystem_error);
  EXPECT_THROW(pending_file(folder / "a"), std::filesystem::filesystem_error);
}

} // namespace
