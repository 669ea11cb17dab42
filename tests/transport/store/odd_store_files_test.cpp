// SPDX-License-Identifier: Apache-2.0
// A store begins where its files are links, pipes, folders, or so long that no reading ends.
#include <sys/stat.h>

#include "tests/transport/store/vanishing_store.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(vanishing_store, starts_with_a_sentence_where_a_file_should_be) {
  const auto refusal = [](const fs::path& folder) -> std::string {
    try {
      const store_writer store({folder});
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  };
  store_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  write_file(target, block_of(9));
  const auto wrong =
      "cannot read " + s.file.string() + ": a link, a pipe, a device or a folder, and no file";
  ASSERT_EQ(::mkfifo(s.file.c_str(), 0644), 0);
  EXPECT_EQ(refusal(s.folder), wrong);
  EXPECT_THROW(store_reader{s.folder}, std::runtime_error);
  fs::remove(s.file);
  fs::create_symlink(target, s.file);
  EXPECT_EQ(refusal(s.folder), wrong);
  fs::remove(s.file);
  fs::create_directory(s.file);
  EXPECT_EQ(refusal(s.folder), wrong);
}

TEST(vanishing_store, never_writes_through_links_beside_its_files) {
  store_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  write_file(target, block_of(9));
  {
    store_writer store({s.folder});
    store_all(store, 1, 2);
  }
  fs::resize_file(s.file, fs::file_size(s.file) - 1); // a torn end
  fs::create_symlink(target, torn_file_path(s.folder, 1));
  fs::create_symlink(target, damage_mark_path(s.folder, 1));
  const store_writer store({s.folder});
  EXPECT_EQ(store.torn_tails(), 1U);
  EXPECT_EQ(read_file(target), block_of(9));
  EXPECT_FALSE(fs::is_symlink(torn_file_path(s.folder, 1)));
  EXPECT_EQ(fs::file_size(torn_file_path(s.folder, 1)), block_of(2).size() - 1);
}

TEST(vanishing_store, reads_a_file_of_200_gb_without_data_at_once) {
  store_scene s;
  {
    store_writer store({s.folder});
    store_all(store, 1, 2);
  }
  const auto size = fs::file_size(s.file);
  fs::resize_file(s.file, std::uintmax_t{200} << 30);
  const store_writer store({s.folder});
  EXPECT_EQ(store.last_stored(session), 2U);
  EXPECT_EQ(fs::file_size(find_store_file(s.folder, 1)), size);
  EXPECT_EQ(fs::file_size(torn_file_path(s.folder, 1)), (std::uintmax_t{200} << 30) - size);
  struct stat torn {};
  ASSERT_EQ(::stat(torn_file_path(s.folder, 1).c_str(), &torn), 0);
  EXPECT_LT(torn.st_blocks, 8192) << "what no program wrote takes no room";
}

TEST(vanishing_store, ends_the_reading_of_its_files_when_it_is_told) {
  store_scene s;
  {
    store_writer store({s.folder});
    store_all(store, 1, 20);
  }
  const auto before = read_file(s.file);
  store_settings settings{s.folder};
  int asked = 0;
  settings.stop = [&] { return ++asked > 3; };
  EXPECT_THROW(store_writer{settings}, scan_stopped);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(read_file(s.file), before);
}

} // namespace
} // namespace l3
