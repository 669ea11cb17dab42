// SPDX-License-Identifier: Apache-2.0
// A store whose files and folder are removed, moved, cut and replaced while it is written.
#include <chrono>
#include <fstream>

#include "tests/transport/store/failing_names.hpp"
#include "tests/transport/store/vanishing_store.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(vanishing_store, writes_anew_what_a_removed_file_held) {
  for (const bool sync : {false, true}) {
    store_scene s;
    store_settings settings{s.folder};
    settings.sync = sync;
    store_writer store(settings);
    store_all(store, 1, 3);
    fs::remove(s.file);
    ASSERT_FALSE(append(store, block_of(4)));
    EXPECT_EQ(store.commit(), name_fault::file_gone);
    EXPECT_EQ(store.last_stored(session), 3U) << "block 4 comes again";
    EXPECT_EQ(contents(s.folder), all_of(3)) << "from the file that is still open";
    store_all(store, 4, 5);
    EXPECT_EQ(contents(s.folder), all_of(5));
    EXPECT_FALSE(store.look());
    EXPECT_EQ(lost_blocks(store), 0U);
    ASSERT_EQ(store.take_news().size(), 1U);
    EXPECT_EQ(store_writer({s.outside.path()}).last_stored(session), 0U);
  }
}

TEST(vanishing_store, counts_by_number_what_was_cut_off) {
  store_scene s;
  store_writer store({s.folder});
  store_all(store, 1, 2);
  const auto two = fs::file_size(s.file);
  store_all(store, 3, 5);
  fs::resize_file(s.file, two + 1);
  ASSERT_FALSE(append(store, block_of(6)));
  EXPECT_EQ(store.commit(), name_fault::file_changed) << "not hidden by what was written behind";
  ASSERT_EQ(store.lost().size(), 1U);
  const block_tally lost = store.lost().at(session);
  EXPECT_EQ(lost.first, 3U);
  EXPECT_EQ(lost.last, 5U);
  EXPECT_EQ(lost.blocks, 3U);
  EXPECT_EQ(lost.events, 3U);
  EXPECT_EQ(store.sessions().at(session).events, 2U);
  EXPECT_EQ(store.last_stored(session), 5U) << "the daemon let them go long ago";
  store_all(store, 6, 6);
  EXPECT_EQ(contents(s.folder), (sequences{{session, 1}, {session, 2}, {session, 6}}));
  EXPECT_FALSE(fs::exists(s.file)) << "its blocks are in the next file";
}

/// Its length is right again; only the time at which it was written tells. An older kernel counts
/// that in ticks.
TEST(vanishing_store, counts_what_was_cut_off_before_the_file_grew_again) {
  constexpr auto tick = std::chrono::milliseconds(20);
  enum class then : std::uint8_t { look, close, write };
  for (const then next : {then::look, then::close, then::write}) {
    store_scene s;
    store_writer store({s.folder});
    store_all(store, 1, 2);
    const auto two = fs::file_size(s.file);
    store_all(store, 3, 5);
    const auto five = fs::file_size(s.file);
    std::this_thread::sleep_for(tick);
    fs::resize_file(s.file, two + 1);
    fs::resize_file(s.file, five);
    if (next == then::write) store_all(store, 6, 6);
    if (next == then::close) {
      EXPECT_TRUE(store.complete_all_files());
    }
    (void)store.look();
    ASSERT_EQ(store.lost().size(), 1U);
    EXPECT_EQ(store.lost().at(session).blocks, 3U);
    EXPECT_EQ(store.lost().at(session).first, 3U);
    sequences left{{session, 1}, {session, 2}};
    if (next == then::write) left.emplace_back(session, 6);
    EXPECT_EQ(contents(s.folder), left);
    EXPECT_FALSE(store.look()) << "told once";
  }
}

TEST(vanishing_store, keeps_a_file_whose_time_alone_was_changed) {
  store_scene s;
  store_writer store({s.folder});
  store_all(store, 1, 3);
  fs::last_write_time(s.file, fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(store.look());
  store_all(store, 4, 4);
  EXPECT_FALSE(store.look());
  EXPECT_TRUE(store.take_news().empty());
  EXPECT_EQ(contents(s.folder), all_of(4));
}

TEST(vanishing_store, never_writes_into_what_has_taken_a_name) {
  store_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  write_file(target, block_of(9));
  store_writer store({s.folder});
  store_all(store, 1, 2);
  fs::remove(s.file);
  fs::create_symlink(target, s.file);
  ASSERT_FALSE(append(store, block_of(3)));
  EXPECT_EQ(store.commit(), name_fault::file_taken);
  store_all(store, 3, 3);
  EXPECT_EQ(read_file(target), block_of(9));
  fs::remove(s.file);
  EXPECT_EQ(contents(s.folder), all_of(3));
}

TEST(vanishing_store, makes_its_folder_again) {
  store_scene s;
  store_settings settings{s.folder};
  settings.file_bytes = 2 * block_of(1).size() + sizeof(store_file_header);
  store_writer store(settings);
  store_all(store, 1, 5); // two files are full, the third has one block
  fs::remove_all(s.folder);
  store_all(store, 6, 6);
  EXPECT_EQ(contents(s.folder), (sequences{{session, 5}, {session, 6}}));
  EXPECT_EQ(store.look(), name_fault::file_gone);
  EXPECT_EQ(store.lost().at(session).first, 1U);
  EXPECT_EQ(store.lost().at(session).last, 4U);
  EXPECT_EQ(store.lost().at(session).blocks, 4U);
  EXPECT_FALSE(store.look()) << "told once";
  EXPECT_EQ(lost_blocks(store), 4U);
  try {
    const store_writer second({s.folder});
    FAIL() << "the new folder belongs to nobody";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("in use"), std::string::npos);
  }
}

TEST(vanishing_store, brings_back_what_was_moved_with_its_folder) {
  store_scene s;
  store_settings settings{s.folder};
  settings.file_bytes = 2 * block_of(1).size() + sizeof(store_file_header);
  store_writer store(settings);
  store_all(store, 1, 5);
  fs::rename(s.folder, s.outside.path() + "/archive");
  store_all(store, 6, 7);
  EXPECT_EQ(contents(s.folder), all_of(7));
  EXPECT_FALSE(store.look());
  EXPECT_EQ(lost_blocks(store), 0U);
}

TEST(vanishing_store, stores_nothing_while_something_else_has_the_folders_name) {
  store_scene s;
  const fs::path other = fs::path(s.outside.path()) / "other";
  fs::create_directory(other);
  store_writer store({s.folder});
  store_all(store, 1, 2);
  fs::rename(s.folder, s.outside.path() + "/archive");
  fs::create_directory_symlink(other, s.folder);
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(append(store, block_of(3)));
    EXPECT_EQ(store.commit(), name_fault::folder_taken);
    EXPECT_EQ(store.last_stored(session), 2U);
  }
  EXPECT_EQ(store.look(), name_fault::folder_taken);
  EXPECT_TRUE(fs::is_empty(other));
  fs::remove(s.folder);
  fs::rename(s.outside.path() + "/archive", s.folder);
  store_all(store, 3, 3);
  EXPECT_EQ(contents(s.folder), all_of(3));
  EXPECT_EQ(store.take_news().size(), 0U) << "the commits' errors said it";
}

TEST(vanishing_store, keeps_the_open_file_until_there_is_room_for_what_it_held) {
  store_scene s;
  store_writer store(without_pauses(s.folder));
  store_all(store, 1, 3);
  fs::remove(s.file);
  {
    const file_size_limit full(100);
    EXPECT_TRUE(store.commit());
    EXPECT_TRUE(store.commit());
    EXPECT_EQ(contents(s.folder), sequences());
  }
  store_all(store, 4, 4);
  EXPECT_EQ(contents(s.folder), all_of(4));
  EXPECT_EQ(lost_blocks(store), 0U);
}

/// Of a disk that takes so little, the store tries rarely; the tries that made a file have taken
/// its number.
TEST(vanishing_store, tries_a_full_disk_after_pauses_that_grow) {
  static time_point now;
  now = time_point(std::chrono::hours(1));
  store_scene s;
  store_settings settings{s.folder};
  settings.now = [] { return now; };
  store_writer store(settings);
  store_all(store, 1, 3);
  fs::remove(s.file);
  {
    const file_size_limit full(100);
    for (int i = 0; i < 600; ++i, now += std::chrono::milliseconds(100))
      EXPECT_TRUE(store.commit());
  }
  now += std::chrono::minutes(1);
  store_all(store, 4, 4);
  EXPECT_EQ(contents(s.folder), all_of(4));
  const auto numbers = store_file_numbers(s.folder);
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_GE(numbers[0], 5U);
  EXPECT_LE(numbers[0], 9U) << "after 0, 1, 3, 7, 15, 31 s of the minute, and behind it";
}

TEST(vanishing_store, finds_what_was_lost_and_is_put_back) {
  store_scene s;
  store_settings settings{s.folder};
  settings.file_bytes = bytes_of(2);
  const fs::path away = fs::path(s.outside.path()) / "away";
  fs::path name;
  {
    store_writer store(settings);
    store_all(store, 1, 5);
    EXPECT_FALSE(store.look()); // a complete file gets a name of its own
    const fs::path file = find_store_file(s.folder, 1);
    fs::rename(file, away);
    EXPECT_EQ(store.look(), name_fault::file_gone);
    EXPECT_EQ(lost_blocks(store), 2U);
    EXPECT_EQ(store.sessions().at(session).events, 3U);
    (void)store.take_news();
    fs::rename(away, file);
    EXPECT_FALSE(store.look());
    EXPECT_EQ(lost_blocks(store), 0U);
    EXPECT_EQ(store.sessions().at(session).events, 5U);
    EXPECT_EQ(store.take_news().size(), 1U);
    EXPECT_EQ(store.last_stored(session), 5U) << "no daemon is asked for them";
    name = file;
    fs::rename(file, away);
    EXPECT_EQ(store.look(), name_fault::file_gone);
    EXPECT_EQ(lost_blocks(store), 2U) << "again";
  }
  EXPECT_EQ(lost_blocks(store_writer(settings)), 2U);
  fs::rename(away, name);
  const store_writer store(settings);
  EXPECT_EQ(lost_blocks(store), 0U);
  EXPECT_EQ(store.sessions().at(session).events, 5U);
  EXPECT_EQ(contents(s.folder), all_of(5));
}

TEST(vanishing_store, counts_nothing_as_lost_of_a_file_that_was_copied_over_itself) {
  store_scene s;
  store_settings settings{s.folder};
  settings.file_bytes = bytes_of(3);
  store_writer store(settings);
  store_all(store, 1, 5);
  EXPECT_FALSE(store.look());
  const fs::path file = find_store_file(s.folder, 1);
  const auto whole = read_file(file);
  std::ofstream copy(file, std::ios::binary | std::ios::trunc);
  EXPECT_EQ(store.look(), name_fault::file_gone);
  EXPECT_EQ(lost_blocks(store), 3U);
  for (std::size_t at = 0; at < whole.size(); at += 100) { // it is looked at meanwhile
    const auto part = std::min<std::size_t>(100, whole.size() - at);
    copy.write(reinterpret_cast<const char*>(whole.data() + at),
               static_cast<std::streamsize>(part));
    copy.flush();
    EXPECT_FALSE(store.look());
    EXPECT_EQ(lost_blocks(store) + store.sessions().at(session).blocks, 5U);
  }
  EXPECT_EQ(lost_blocks(store), 0U);
  EXPECT_EQ(contents(s.folder), all_of(5));
}

TEST(vanishing_store, counts_a_file_that_vanished_before_anything_was_written) {
  store_scene s;
  {
    store_writer store({s.folder});
    store_all(store, 1, 3);
  }
  store_writer store({s.folder});
  EXPECT_FALSE(store.look());
  fs::remove(find_store_file(s.folder, 1));
  EXPECT_EQ(store.look(), name_fault::file_gone);
  EXPECT_EQ(lost_blocks(store), 3U);
  EXPECT_EQ(store.sessions().at(session).events, 0U);
}

TEST(vanishing_store, counts_nothing_as_lost_that_it_cannot_look_at) {
  store_scene s;
  store_writer store({s.folder});
  store_all(store, 1, 3);
  {
    const failing_names refused(EIO);
    EXPECT_EQ(store.look(), std::errc::io_error);
    ASSERT_FALSE(append(store, block_of(4)));
    EXPECT_EQ(store.commit(), std::errc::io_error);
  }
  store_all(store, 4, 4);
  EXPECT_FALSE(store.look());
  EXPECT_EQ(lost_blocks(store), 0U);
  EXPECT_EQ(contents(s.folder), all_of(4));
}

TEST(vanishing_store, counts_no_older_file_as_lost_that_it_cannot_look_at) {
  store_scene s;
  {
    store_writer store({s.folder});
    store_all(store, 1, 3);
  }
  store_writer store({s.folder});
  {
    const failing_names refused(EIO);
    EXPECT_EQ(store.look(), std::errc::io_error);
  }
  EXPECT_FALSE(store.look());
  EXPECT_EQ(lost_blocks(store), 0U);
}

} // namespace
} // namespace l3
