// SPDX-License-Identifier: Apache-2.0
// A store whose files and folder are removed, moved, cut and replaced while it is written.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/transport/store/failing_names.hpp"
#include "tests/transport/store/store_files.hpp"
#include "tests/transport/store/vanishing_files.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

using namespace test;

struct scene {
  scratch_folder outside;
  fs::path folder = fs::path(outside.path()) / "store";
  fs::path file = folder / "blocks-000001.kl3";

  scene() { fs::create_directory(folder); }
};

std::uint64_t lost_blocks(const store_writer& store) {
  std::uint64_t blocks = 0;
  for (const auto& [session, lost] : store.lost()) blocks += lost.blocks;
  return blocks;
}

/// Commits blocks from `first` to `last`; those that a commit takes back come again.
void store_all(store_writer& store, std::uint64_t first, std::uint64_t last) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    bool taken = true;
    for (auto i = std::max(first, store.last_stored(session) + 1); taken && i <= last; ++i)
      taken = !append(store, block_of(i));
    if (!store.commit() && taken) return;
  }
  FAIL() << "no commit succeeds";
}

sequences all_of(std::uint64_t last) {
  sequences all;
  for (std::uint64_t i = 1; i <= last; ++i) all.emplace_back(session, i);
  return all;
}

TEST(vanishing_store, writes_anew_what_a_removed_file_held) {
  for (const bool sync : {false, true}) {
    scene s;
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
  scene s;
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
    scene s;
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
  scene s;
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
  scene s;
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
  scene s;
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
  scene s;
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
  scene s;
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

store_settings without_pauses(const fs::path& folder) {
  store_settings settings{folder};
  settings.now = hasty_clock;
  return settings;
}

TEST(vanishing_store, keeps_the_open_file_until_there_is_room_for_what_it_held) {
  scene s;
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

/// Of a file with so many blocks.
std::uint64_t bytes_of(std::uint64_t blocks) {
  std::uint64_t all = sizeof(store_file_header);
  for (std::uint64_t i = 1; i <= blocks; ++i) all += block_of(i).size();
  return all;
}

/// Of a disk that takes so little, the store tries rarely; the tries that made a file have taken
/// its number.
TEST(vanishing_store, tries_a_full_disk_after_pauses_that_grow) {
  static time_point now;
  now = time_point(std::chrono::hours(1));
  scene s;
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
  scene s;
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
  scene s;
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

/// Looks read one block each.
int asks_left = 0;
store_settings with_short_looks(const fs::path& folder) {
  store_settings settings{folder};
  settings.file_bytes = bytes_of(2);
  settings.has_read_enough = [](time_point) { return asks_left-- <= 0; };
  return settings;
}
std::error_code look_shortly(store_writer& store) {
  asks_left = 1;
  return store.look();
}

void touch(const fs::path& file) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
}
void touch_all(const fs::path& folder) {
  for (const auto& f : fs::directory_iterator(folder)) touch(f.path());
}

TEST(vanishing_store, reads_what_was_touched_in_steps) {
  scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 20);
  EXPECT_FALSE(look_shortly(store));
  EXPECT_EQ(store.not_compared(), 0U);
  const auto files = store_file_numbers(s.folder).size();
  ASSERT_GE(files, 10U);
  touch_all(s.folder);
  const auto cut = find_store_file(s.folder, 7);
  fs::resize_file(cut, fs::file_size(cut) - 1);
  int looks = 0;
  int until_lost = 0;
  for (; looks == 0 || store.unread() > 0; ++looks) {
    ASSERT_LT(looks, 100);
    (void)look_shortly(store);
    EXPECT_LE(asks_left, 0) << "there is more to read";
    EXPECT_LE(store.not_compared(), files);
    if (until_lost == 0 && !store.lost().empty()) until_lost = looks;
    store_all(store, 21U + static_cast<unsigned>(looks), 21U + static_cast<unsigned>(looks));
  }
  EXPECT_GE(looks, 15);
  EXPECT_LE(until_lost, 4) << "what cannot be whole comes first";
  EXPECT_EQ(lost_blocks(store), 1U);
  EXPECT_EQ(std::ranges::count(contents(s.folder), store.lost().at(session).first,
                               &sequences::value_type::second),
            0);
  EXPECT_EQ(store.take_news().size(), 4U)
      << "that files were touched, what is lost, that all is read";
  EXPECT_FALSE(look_shortly(store));
}

/// As where there are so many files, or a network is so slow, that the looks at their names take
/// all of the time.
TEST(vanishing_store, reads_what_was_touched_however_long_it_looks_at_names) {
  scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 6);
  touch_all(s.folder);
  for (int looks = 0; looks == 0 || store.unread() > 0; ++looks) {
    ASSERT_LT(looks, 40);
    asks_left = 0;
    (void)store.look();
  }
  EXPECT_EQ(store.not_compared(), 0U);
  EXPECT_EQ(lost_blocks(store), 0U);
}

/// Three files that are written, of three sessions with `blocks` blocks each; steps of two blocks.
struct three_files : scene {
  static constexpr std::uint64_t blocks = 6;
  store_writer store{with_short_looks(folder)};

  three_files() {
    for (std::uint64_t i = 1; i <= blocks; ++i)
      for (std::uint64_t of = 1; of <= 3; ++of) EXPECT_FALSE(append(store, block(of, i)));
    EXPECT_FALSE(commit_shortly());
  }
  static store_settings with_short_looks(const fs::path& folder) {
    store_settings s = l3::with_short_looks(folder);
    s.file_bytes = bytes_of(1000);
    return s;
  }
  static bytes block(std::uint64_t of, std::uint64_t sequence) {
    bytes b = block_of(sequence, of);
    auto header = load<block_header>(b.data());
    header.run = static_cast<std::uint32_t>(of);
    seal_header(header);
    l3::store(b.data(), header);
    return b;
  }
  std::error_code commit_shortly() {
    asks_left = 1;
    return store.commit();
  }
  /// Each block once, also for the next start.
  void expect_all(std::uint64_t of_each = blocks) {
    const auto all = contents(folder);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 3 * of_each);
    EXPECT_EQ(all.size(), 3 * of_each);
    EXPECT_EQ(lost_blocks(store), 0U);
    EXPECT_EQ(store.not_compared(), 0U);
  }
};

TEST(vanishing_store, writes_taken_files_anew_in_steps) {
  three_files s;
  for (const auto number : store_file_numbers(s.folder))
    fs::remove(find_store_file(s.folder, number));
  int steps = 0;
  do {
    ASSERT_FALSE(append(s.store, s.block(1, 7)));
    EXPECT_TRUE(s.commit_shortly()) << "called safe in step " << steps;
    EXPECT_EQ(s.store.last_stored(1), 6U);
    EXPECT_LE(asks_left, 0) << "there is more to write";
    EXPECT_LE(contents(s.folder).size(), 2U * static_cast<unsigned>(++steps));
  } while (s.store.to_write_anew() != 0 && steps < 100);
  EXPECT_EQ(steps, 9);
  s.expect_all();
  for (std::uint64_t of = 1; of <= 3; ++of) ASSERT_FALSE(append(s.store, s.block(of, 7)));
  EXPECT_FALSE(s.commit_shortly());
  s.expect_all(7);
}

TEST(vanishing_store, leaves_taken_files_that_are_put_back) {
  three_files s;
  const auto numbers = store_file_numbers(s.folder);
  const auto move = [&](std::uint64_t number, bool back) {
    const auto name = store_file_name(number);
    const fs::path away = fs::path(s.outside.path()) / name;
    fs::rename(back ? away : s.folder / name, back ? s.folder / name : away);
  };
  for (const auto number : numbers) move(number, false);
  EXPECT_TRUE(s.commit_shortly());
  EXPECT_TRUE(s.commit_shortly());
  move(numbers[0], true); // of which four blocks are written anew
  EXPECT_TRUE(s.commit_shortly());
  for (const auto number : {numbers[1], numbers[2]}) move(number, true);
  EXPECT_FALSE(s.commit_shortly());
  EXPECT_EQ(s.store.to_write_anew(), 0U);
  s.expect_all();
  EXPECT_EQ(store_file_numbers(s.folder), numbers);
}

TEST(vanishing_store, begins_anew_when_the_folder_is_taken_meanwhile) {
  three_files s;
  for (const auto number : store_file_numbers(s.folder))
    fs::remove(find_store_file(s.folder, number));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(s.commit_shortly());
  fs::remove_all(s.folder);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (s.commit_shortly() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  s.expect_all();
}

/// Two files are removed: what the writer has copied out of them until its end stays. One is cut:
/// its whole blocks stay.
TEST(vanishing_store, counts_as_lost_what_its_end_leaves_no_time_for) {
  three_files s;
  const auto numbers = store_file_numbers(s.folder);
  fs::remove(find_store_file(s.folder, numbers[0]));
  fs::remove(find_store_file(s.folder, numbers[1]));
  const auto cut = find_store_file(s.folder, numbers[2]);
  fs::resize_file(cut, fs::file_size(cut) - 1);
  asks_left = 3;
  s.store.write_rest_anew([] { return asks_left-- <= 0; });
  EXPECT_FALSE(s.store.complete_all_files());
  asks_left = 100;
  EXPECT_EQ(s.store.look(), name_fault::file_gone);
  EXPECT_EQ(s.store.lost().at(1).blocks, 2U);
  EXPECT_EQ(s.store.lost().at(1).first, 5U);
  EXPECT_EQ(s.store.lost().at(2).blocks, 6U);
  EXPECT_EQ(s.store.lost().at(3).blocks, 1U);
  EXPECT_EQ(contents(s.folder).size(), 18 - lost_blocks(s.store));
  EXPECT_EQ(s.store.not_compared(), 0U);
}

TEST(vanishing_store, reads_every_file_though_one_is_touched_again_and_again) {
  scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 12);
  EXPECT_FALSE(look_shortly(store));
  touch_all(s.folder);
  for (int looks = 0; looks < 60; ++looks) {
    touch(find_store_file(s.folder, 2));
    EXPECT_FALSE(look_shortly(store));
  }
  EXPECT_LE(store.unread(), 1U);
  for (int looks = 0; looks < 5; ++looks) EXPECT_FALSE(look_shortly(store));
  EXPECT_EQ(store.unread(), 0U);
}

/// Another program has written to the file that is written, and it ends before a look has read it.
TEST(vanishing_store, reads_a_file_that_was_touched_although_it_is_complete_by_now) {
  for (const bool cut : {false, true}) {
    scene s;
    store_settings settings = with_short_looks(s.folder);
    settings.file_bytes = bytes_of(6);
    store_writer store(settings);
    store_all(store, 1, 6);
    const auto size = fs::file_size(s.file);
    if (cut) {
      fs::resize_file(s.file, size - 1);
      fs::resize_file(s.file, size);
    }
    touch(s.file);
    EXPECT_FALSE(look_shortly(store));
    EXPECT_EQ(store.not_compared(), 1U);
    asks_left = 0;
    EXPECT_FALSE(store.complete_all_files());
    EXPECT_EQ(lost_blocks(store), 0U);
    for (int looks = 0; looks < 10; ++looks) (void)look_shortly(store);
    EXPECT_EQ(store.not_compared(), 0U);
    EXPECT_EQ(lost_blocks(store), cut ? 1U : 0U);
  }
}

TEST(vanishing_store, reads_in_steps_what_holds_no_block_at_all) {
  scene s;
  store_writer store(with_short_looks(s.folder));
  store_all(store, 1, 4);
  EXPECT_FALSE(look_shortly(store));
  const auto file = find_store_file(s.folder, 1);
  const auto whole = read_file(file);
  constexpr std::size_t step = 1 << 20;
  bytes longer(8 * step, std::byte{'x'});
  std::copy_n(whole.begin(), sizeof(store_file_header), longer.begin());
  longer.insert(longer.end(), whole.begin() + sizeof(store_file_header), whole.end());
  write_file(file, longer);
  int looks = 0;
  do EXPECT_FALSE(look_shortly(store));
  while (++looks < 100 && store.unread() > 0);
  EXPECT_GE(looks, 8);
  EXPECT_LE(looks, 10);
  EXPECT_EQ(store.unread(), 0U);
  EXPECT_EQ(lost_blocks(store), 0U) << "it is found, behind all of that";
}

TEST(vanishing_store, counts_a_file_that_vanished_before_anything_was_written) {
  scene s;
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
  scene s;
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
  scene s;
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

TEST(vanishing_store, starts_with_a_sentence_where_a_file_should_be) {
  const auto refusal = [](const fs::path& folder) -> std::string {
    try {
      const store_writer store({folder});
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  };
  scene s;
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
  scene s;
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
  scene s;
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
  scene s;
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

/// What was acknowledged is in the folder, or was counted as lost; what was acknowledged after the
/// hand's last deed is in the folder.
class store_model {
public:
  explicit store_model(std::uint32_t seed) : random_(seed) { start(); }

  void step() {
    switch (random_() % 9) {
    case 0: act(); break;
    case 1: look(); break;
    case 2: start(); break;
    case 3: act_on_the_manifest(); break;
    default: append_and_commit();
    }
  }

private:
  /// The receiver before ends in order, with a ledger, or is killed; then the hand is busy.
  void start() {
    if (store_ && random_() % 2 == 0) {
      look();
      store_->forget_losses();
      lost_.clear();
    }
    store_.reset();
    if (!fs::exists(folder_)) fs::create_directory(folder_);
    for (auto deeds_left = random_() % 3; deeds_left != 0; --deeds_left)
      hand_.act(static_cast<deed>(random_() % static_cast<int>(deed::remove_folder)), "blocks-",
                random_);
    hand_.take_back("blocks-");
    // With the manifest gone, too, nothing tells what there was.
    if (!fs::exists(folder_ / "manifest.kl3m")) forget_all();
    store_settings settings = without_pauses(folder_);
    settings.file_bytes = 4 * block_of(1).size();
    settings.sync = random_() % 8 == 0;
    store_.emplace(settings);
    (void)store_->take_news();
    expect_counted();
  }

  void append_and_commit() {
    const int blocks = 1 + static_cast<int>(random_() % 3);
    sequences sent;
    bool taken = true;
    for (int i = 0; taken && i < blocks; ++i) {
      const std::uint64_t of = session + random_() % 2;
      const auto next = store_->last_stored(of) + 1;
      taken = !append(*store_, block_of(next, of));
      if (taken) sent.emplace_back(of, next);
    }
    (void)store_->commit();
    (void)store_->take_news();
    const auto now = there();
    for (const auto& block : sent) { // an append may have committed some on its way to a next file
      if (block.second > store_->last_stored(block.first)) continue;
      EXPECT_TRUE(now.contains(block)) << block.second << " was acknowledged and is not there";
      safe_.insert(block);
      lost_.erase(block); // it came again
    }
  }

  void act() {
    if (!fs::exists(folder_)) return;
    hand_.act(static_cast<deed>(random_() % deeds), "blocks-", random_);
  }

  /// It is written again by the next look.
  void act_on_the_manifest() {
    if (!fs::exists(folder_)) return;
    hand_.act(static_cast<deed>(random_() % static_cast<int>(deed::remove_folder)), "manifest",
              random_);
    if (random_() % 2 == 0) append_and_commit();
    look();
  }

  void look() {
    (void)store_->look();
    (void)store_->take_news();
    expect_counted();
    EXPECT_TRUE(hand_.target_is_whole());
  }

  /// Each block that was acknowledged is there, or is counted as lost until a ledger has told it,
  /// within the numbers that it gives.
  void expect_counted() {
    const auto now = there();
    for (const auto& block : safe_)
      if (!now.contains(block)) lost_.insert(block);
    safe_ = now;
    EXPECT_EQ(lost_blocks(*store_), lost_.size());
    for (const auto& [of, sequence] : lost_) {
      const auto told = store_->lost().find(of);
      ASSERT_NE(told, store_->lost().end());
      EXPECT_LE(told->second.first, sequence);
      EXPECT_GE(told->second.last, sequence);
    }
    std::uint64_t stored = 0;
    for (const auto& [of, s] : store_->sessions()) stored += s.blocks;
    EXPECT_EQ(stored, now.size()) << "the ledger's sum";
  }

  void forget_all() {
    safe_.clear();
    lost_.clear();
  }

  /// An independent look: links are no files of a store.
  std::set<std::pair<std::uint64_t, std::uint64_t>> there() {
    std::set<std::pair<std::uint64_t, std::uint64_t>> found;
    if (!fs::is_directory(folder_)) return found;
    for (const auto& f : fs::directory_iterator(folder_)) {
      if (f.is_symlink() || f.path().extension() != ".kl3") continue;
      const auto data = read_file(f.path());
      for (std::size_t at = sizeof(store_file_header); at < data.size();) {
        block_header header;
        const auto rest = std::span(data).subspan(at);
        if (read_block_header(rest, header) != block_fault::none) break;
        const auto size = sizeof header + header.payload_bytes;
        if (rest.size() < size || check_block(rest.first(size), header) != block_fault::none) break;
        EXPECT_TRUE(found.emplace(header.session, header.sequence).second) << "twice";
        at += size;
      }
    }
    return found;
  }

  scratch_folder outside_;
  fs::path folder_ = fs::path(outside_.path()) / "store";
  tidy_hand hand_{folder_, outside_.path()};
  std::mt19937 random_;
  std::optional<store_writer> store_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> safe_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> lost_; ///< and in no last ledger
};

TEST(vanishing_store, agrees_with_a_model_while_its_files_are_pulled_away) {
  const std::uint32_t seeds = std::getenv("L3_LONG") != nullptr ? 3000 : 40;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    store_model both(seed);
    for (int i = 0; i < 60; ++i) {
      both.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "step " << i;
    }
  }
}

} // namespace
} // namespace l3
