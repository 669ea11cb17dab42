// SPDX-License-Identifier: Apache-2.0
// A spool whose segments and folder are removed, moved, cut and replaced while it is in use.
#include <algorithm>
#include <iterator>

#include "tests/transport/output/vanishing_spool.hpp"
#include "tests/transport/store/failing_names.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(vanishing_spool, writes_anew_what_a_removed_segment_held) {
  const spool_scene s;
  {
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 3);
    fs::remove(s.segment(1));
    append_all(disk, 4, 4);
    EXPECT_FALSE(fs::exists(s.segment(1)));
    EXPECT_EQ(fs::file_size(s.segment(2)), head_bytes + 4 * block_bytes);
    EXPECT_EQ(disk.totals().vanished, 1U);
    EXPECT_EQ(disk.totals().disk_bytes, head_bytes + 4 * block_bytes);
    EXPECT_EQ(disk.take_news().size(), 1U);
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 4), {}}));
  }
  spool next(small_spool(s.folder));
  EXPECT_EQ(drain(next, 1), (drained{numbers(1, 4), {}})) << "for the next start";
}

TEST(vanishing_spool, reads_the_open_segment_whatever_became_of_its_name) {
  const spool_scene s;
  spool disk(small_spool(s.folder));
  append_all(disk, 1, 3);
  fs::remove(s.segment(1));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}}));
  disk.look();
  EXPECT_EQ(fs::file_size(s.segment(2)), head_bytes + 3 * block_bytes) << "without any append";
}

/// A clock of which a second goes by between two questions.
time_point slow_clock() {
  static time_point now{};
  return now += std::chrono::seconds(1);
}

TEST(vanishing_spool, counts_as_lost_what_its_end_leaves_no_time_for) {
  const spool_scene s;
  {
    spool_system system;
    system.now = slow_clock;
    spool disk(small_spool(s.folder), system);
    disk.keep_in_memory(2);
    append_all(disk, 1, 4);
    append_all(disk, 1, 3, 2);
    fs::remove(s.segment(1));
    disk.end_by(time_point());
    disk.look();
    EXPECT_EQ(fs::file_size(s.segment(2)), head_bytes + 2 * block_bytes) << "two seconds";
    EXPECT_EQ(disk.lost_events(1), 6U);
    EXPECT_EQ(disk.take_vanished(), 1U) << "memory has them";
    EXPECT_EQ(disk.lost_events(2), 0U);
    EXPECT_EQ(drain(disk, 1), (drained{{1, 2}, {3, 4}}));
    append_all(disk, 1, 3, 2);
    EXPECT_EQ(drain(disk, 2), (drained{numbers(1, 3), {}}));
  }
  spool next(small_spool(s.folder));
  EXPECT_EQ(drain(next, 2), (drained{numbers(1, 3), {}}));
}

TEST(vanishing_spool, flushes_what_it_writes_anew_a_part_at_a_time) {
  static int flushes = 0;
  const spool_scene s;
  spool_settings settings = small_spool(s.folder, 256 << 20);
  settings.size = mebibytes(1024);
  settings.sync = true;
  spool_system system;
  system.flush = [](int) { return ++flushes, 0; };
  spool disk(settings, system);
  for (std::uint64_t i = 1; i <= 9; ++i) ASSERT_FALSE(disk.append(spool_block(1, i, 16 << 20)));
  fs::remove(s.segment(1));
  flushes = 0;
  disk.look();
  EXPECT_GE(flushes, 3) << "of 144 MiB";
  EXPECT_EQ(disk.lost_events(1), 0U);
}

TEST(vanishing_spool, counts_what_was_cut_off) {
  const spool_scene s;
  spool disk(small_spool(s.folder));
  append_all(disk, 1, 5);
  fs::resize_file(s.segment(1), head_bytes + 2 * block_bytes + 1);
  append_all(disk, 6, 6);
  EXPECT_EQ(disk.lost_events(1), 9U);
  EXPECT_EQ(drain(disk, 1), (drained{{1, 2, 6}, {3, 4, 5}}));
  EXPECT_EQ(disk.totals().events, 9U);
}

/// As `fallocate --insert-range` does it. The last block seems to reach into what is written next.
TEST(vanishing_spool, writes_nothing_behind_blocks_that_were_shifted) {
  const spool_scene s;
  {
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 5);
    bytes shifted = read_file(s.segment(1));
    const auto here = shifted.begin() + head_bytes + 2 * block_bytes;
    shifted.insert(here, 100, std::byte{0});
    std::fstream(s.segment(1), std::ios::in | std::ios::out | std::ios::binary)
        .write(reinterpret_cast<const char*>(shifted.data()),
               static_cast<std::streamsize>(shifted.size()));
    append_all(disk, 6, 6);
    EXPECT_EQ(disk.lost_events(1), 9U);
    EXPECT_EQ(drain(disk, 1), (drained{{1, 2, 6}, {3, 4, 5}}));
  }
  spool next(small_spool(s.folder));
  EXPECT_EQ(drain(next, 1), (drained{{1, 2, 6}, {3, 4, 5}}));
}

TEST(vanishing_spool, forgets_what_was_cut_off_and_is_in_memory) {
  const spool_scene s;
  spool disk(small_spool(s.folder));
  disk.keep_in_memory(1);
  append_all(disk, 1, 5);
  fs::resize_file(s.segment(1), head_bytes + 2 * block_bytes + 1);
  append_all(disk, 6, 6);
  EXPECT_EQ(disk.take_vanished(), 3U);
  EXPECT_EQ(disk.lost_events(1), 0U);
  append_all(disk, 3, 6);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 6), {}}));
}

TEST(vanishing_spool, never_writes_into_what_has_taken_a_name) {
  const spool_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  write_file(target, spool_block(9, 9));
  spool disk(small_spool(s.folder));
  append_all(disk, 1, 2);
  fs::remove(s.segment(1));
  fs::create_symlink(target, s.segment(1));
  append_all(disk, 3, 3);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}}));
  disk.release(1, 3);
  EXPECT_EQ(read_file(target), spool_block(9, 9));
  EXPECT_TRUE(fs::is_symlink(s.segment(1))) << "it is not the spool's";
}

TEST(vanishing_spool, gives_up_what_was_in_older_segments_and_what_memory_has_is_written_again) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 3);
  append_all(disk, 11, 13, 2);
  append_all(disk, 14, 14, 2);
  fs::remove(s.segment(1));
  fs::remove(s.segment(2));
  EXPECT_EQ(disk.totals().events, 21U) << "what the index believes";
  disk.keep_in_memory(2);
  disk.look();
  EXPECT_EQ(disk.take_vanished(), 11U);
  EXPECT_EQ(disk.lost_events(1), 9U);
  EXPECT_EQ(disk.lost_events(2), 0U);
  EXPECT_EQ(disk.totals().events, 3U);
  EXPECT_EQ(disk.totals().vanished, 2U);
  append_all(disk, 11, 14, 2);
  EXPECT_EQ(drain(disk, 2), (drained{numbers(11, 14), {}}));
  EXPECT_EQ(drain(disk, 1), (drained{{}, numbers(1, 3)}));
  disk.look();
  EXPECT_EQ(disk.take_vanished(), 0U) << "told once";
  EXPECT_EQ(disk.totals().vanished, 2U);
  disk.release(1, 3);
  disk.release(2, 14);
  EXPECT_EQ(disk.totals().blocks, 0U);
}

TEST(vanishing_spool, believes_no_file_for_its_length_that_took_the_name_of_an_older_segment) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 9);
  fs::remove(s.segment(1));
  write_file(s.segment(1), bytes(2 * three_blocks));
  auto half = read_file(s.segment(2));
  half[half.size() / 2] ^= std::byte{1}; // in block 5
  fs::remove(s.segment(2));
  write_file(s.segment(2), half);
  fs::last_write_time(s.segment(2), fs::file_time_type::clock::now() + std::chrono::hours(1));
  disk.look();
  EXPECT_EQ(disk.lost_events(1), 12U) << "the ledger's waiting is what is on disk";
  EXPECT_EQ(disk.totals().events, 15U);
  EXPECT_EQ(disk.totals().vanished, 2U);
  EXPECT_EQ(disk.take_news().size(), 2U);
  disk.look();
  EXPECT_TRUE(disk.take_news().empty()) << "told once";
  EXPECT_EQ(drain(disk, 1), (drained{{4, 6, 7, 8, 9}, {1, 2, 3, 5}}));
  disk.release(1, 9);
  EXPECT_TRUE(fs::exists(s.segment(1))) << "it is not the spool's";
  EXPECT_FALSE(fs::exists(s.segment(2)));
}

/// Looks read one block each.
int asks_left = 0;
void look_shortly(spool& disk) {
  asks_left = 1;
  disk.look();
}

TEST(vanishing_spool, reads_what_was_touched_in_steps) {
  const spool_scene s;
  spool_system system;
  system.has_read_enough = [](time_point) { return asks_left-- <= 0; };
  spool disk(small_spool(s.folder, three_blocks), system);
  append_all(disk, 1, 18);
  look_shortly(disk);
  EXPECT_EQ(disk.unread(), 0U);
  for (std::uint64_t n = 1; n <= 5; ++n)
    fs::last_write_time(s.segment(n), fs::file_time_type::clock::now() + std::chrono::hours(1));
  fs::resize_file(s.segment(4), three_blocks - 1);
  int looks = 0;
  int until_lost = 0;
  for (; looks == 0 || disk.unread() > 0; ++looks) {
    ASSERT_LT(looks, 100);
    look_shortly(disk);
    EXPECT_LE(disk.unread(), 5U);
    if (until_lost == 0 && disk.lost_events(1) != 0) until_lost = looks;
    append_all(disk, 19U + static_cast<unsigned>(looks), 19U + static_cast<unsigned>(looks));
  }
  EXPECT_GE(looks, 13);
  EXPECT_LE(until_lost, 4) << "what cannot be whole comes first";
  EXPECT_EQ(disk.lost_events(1), 3U);
  EXPECT_EQ(disk.totals().vanished, 1U);
  EXPECT_EQ(disk.take_news().size(), 3U)
      << "that files were touched, what is lost, that all is read";
  look_shortly(disk);
  EXPECT_TRUE(disk.take_news().empty());
  EXPECT_EQ(drain(disk, 1).empty, numbers(12, 12));
}

/// As where there are so many segments, or a network is so slow, that the looks at their names take
/// all of the time.
TEST(vanishing_spool, reads_what_was_touched_however_long_it_looks_at_names) {
  const spool_scene s;
  spool_system system;
  system.has_read_enough = [](time_point) { return true; };
  spool disk(small_spool(s.folder, three_blocks), system);
  append_all(disk, 1, 10);
  for (std::uint64_t n = 1; n <= 3; ++n)
    fs::last_write_time(s.segment(n), fs::file_time_type::clock::now() + std::chrono::hours(1));
  for (int looks = 0; looks == 0 || disk.unread() > 0; ++looks) {
    ASSERT_LT(looks, 40);
    disk.look();
  }
  EXPECT_EQ(disk.lost_events(1), 0U);
}

TEST(vanishing_spool, does_not_write_a_segment_anew_that_is_removed_again_and_again) {
  static time_point now;
  now = time_point(std::chrono::hours(1));
  const spool_scene s;
  spool_system system;
  system.now = [] { return now; };
  spool disk(small_spool(s.folder), system);
  append_all(disk, 1, 1);
  std::uint64_t made = 1;
  const auto act = [&] {
    fs::remove(s.segment(made));
    disk.look();
    if (fs::exists(s.segment(made + 1))) ++made;
  };
  for (int i = 0; i < 100; ++i) act();
  EXPECT_EQ(made, 2U);
  EXPECT_FALSE(disk.is_in_place());
  for (int i = 0; i < 300; ++i, now += std::chrono::milliseconds(100)) act();
  EXPECT_LE(made, 12U);
  now += std::chrono::minutes(1);
  append_all(disk, 2, 2);
  EXPECT_TRUE(disk.is_in_place());
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
  now += std::chrono::minutes(1);
  fs::remove_all(s.folder);
  append_all(disk, 3, 3);
  fs::remove_all(s.folder);
  EXPECT_TRUE(disk.append(spool_block(1, 4)));
  EXPECT_FALSE(fs::exists(s.folder));
}

TEST(vanishing_spool, takes_a_copy_of_an_older_segment_for_the_segment) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 4);
  const auto copy = read_file(s.segment(1));
  fs::remove(s.segment(1));
  write_file(s.segment(1), copy);
  disk.look();
  EXPECT_TRUE(disk.take_news().empty());
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 4), {}}));
  disk.release(1, 4);
  EXPECT_FALSE(fs::exists(s.segment(1)));
}

TEST(vanishing_spool, says_few_lines_about_very_many_segments) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 300);
  for (std::uint64_t number = 1; number < 100; ++number) fs::remove(s.segment(number));
  disk.look();
  EXPECT_EQ(disk.lost_events(1), 3U * 297);
  EXPECT_EQ(disk.totals().vanished, 99U);
  EXPECT_LE(disk.take_news().size(), 10U);
}

TEST(vanishing_spool, says_at_the_start_which_blocks_are_gone) {
  const spool_scene s;
  {
    spool disk(small_spool(s.folder, three_blocks));
    append_all(disk, 1, 9);
    disk.release(1, 1);
    append_all(disk, 41, 43, 2);
    disk.release(2, 41);
  }
  fs::remove(s.segment(1));
  fs::remove(s.segment(3));
  fs::remove(s.segment(4));
  {
    spool disk(small_spool(s.folder));
    EXPECT_EQ(disk.found().blocks, 3U);
    const auto& gone = disk.found().gone;
    ASSERT_EQ(gone.size(), 3U);
    const auto is = [&](std::size_t n, std::uint64_t lane, std::uint64_t first,
                        std::uint64_t last) {
      return gone[n].session == lane && gone[n].first == first && gone[n].last == last;
    };
    EXPECT_TRUE(is(0, 1, 2, 3)) << "released blocks are not lost";
    EXPECT_TRUE(is(1, 1, 7, 9));
    EXPECT_TRUE(is(2, 2, 42, 43));
    EXPECT_EQ(disk.totals().missing, 7U);
    disk.release(1, 6);
    disk.forget_what_is_gone();
  }
  EXPECT_TRUE(spool(small_spool(s.folder)).found().gone.empty()) << "told once";
}

/// An earlier start left lane 1 in three segments and lane 2 in one. The last of lane 1 and that of
/// lane 2 are gone.
void leave_without_its_tail(const spool_scene& s) {
  {
    spool disk(small_spool(s.folder, three_blocks));
    append_all(disk, 1, 9);
    append_all(disk, 1, 3, 2);
  }
  fs::remove(s.segment(3));
  fs::remove(s.segment(4));
}

TEST(vanishing_spool, finds_again_what_is_gone_until_it_is_in_a_ledger) {
  const spool_scene s;
  leave_without_its_tail(s);
  for (int start = 0; start < 2; ++start) {
    spool disk(small_spool(s.folder));
    EXPECT_EQ(disk.found().gone.size(), 2U) << start;
    EXPECT_EQ(disk.totals().missing, 6U) << start;
  }
  {
    spool disk(small_spool(s.folder));
    disk.release(1, 6); // the last block that is there: no segment holds one of either lane
    EXPECT_EQ(disk.totals().disk_bytes, 0U);
  }
  spool disk(small_spool(s.folder));
  EXPECT_EQ(disk.totals().missing, 6U) << "its process died, and no ledger has them";
  disk.forget_what_is_gone();
  EXPECT_TRUE(spool_releases::read_in(s.folder).empty());
}

TEST(vanishing_spool, tells_once_of_a_tail_that_is_gone) {
  const spool_scene s;
  leave_without_its_tail(s);
  {
    spool disk(small_spool(s.folder));
    EXPECT_EQ(disk.found().gone.size(), 2U);
    disk.forget_what_is_gone();
  }
  EXPECT_TRUE(spool(small_spool(s.folder)).found().gone.empty());
  {
    spool disk(small_spool(s.folder, three_blocks));
    append_all(disk, 10, 12);
  }
  fs::remove(s.segment(3));
  const auto gone = spool(small_spool(s.folder)).found().gone;
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].last, 12U) << "what came since is told";
}

TEST(vanishing_spool, gives_nothing_up_that_it_cannot_look_at) {
  const spool_scene s;
  std::optional<spool> disk(std::in_place, small_spool(s.folder, three_blocks));
  append_all(*disk, 1, 4);
  {
    const failing_names refused(EIO);
    disk->look();
    EXPECT_FALSE(disk->is_in_place()) << "the segment that is written";
    EXPECT_EQ(disk->append(spool_block(1, 5)), std::errc::io_error);
  }
  append_all(*disk, 5, 5);
  EXPECT_TRUE(disk->is_in_place());
  EXPECT_FALSE(fs::exists(s.segment(3))) << "nothing is written anew";
  disk.reset();
  disk.emplace(small_spool(s.folder, three_blocks));
  {
    const failing_names refused(EIO);
    disk->look();
    disk->look();
    EXPECT_EQ(disk->take_news().size(), 1U) << "told once";
  }
  disk->look();
  EXPECT_EQ(disk->lost_events(1), 0U);
  EXPECT_EQ(drain(*disk, 1), (drained{numbers(1, 5), {}}));
  EXPECT_TRUE(disk->take_news().empty());
}

TEST(vanishing_spool, makes_a_folder_whose_name_survives_the_machine) {
  const spool_scene s;
  const auto inode_of = [](const fs::path& path) {
    struct stat st {};
    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    return st.st_ino;
  };
  flushed.clear();
  spool disk(small_spool(s.folder / "deep" / "spool"));
  EXPECT_TRUE(flushed.contains(inode_of(s.outside.path())));
  EXPECT_TRUE(flushed.contains(inode_of(s.folder)));
  EXPECT_TRUE(flushed.contains(inode_of(s.folder / "deep")));
  fs::remove_all(s.folder / "deep" / "spool");
  flushed.clear();
  disk.look();
  EXPECT_TRUE(flushed.contains(inode_of(s.folder / "deep")));
}

TEST(vanishing_spool, writes_the_file_beside_its_segments_again) {
  const spool_scene s;
  const fs::path beside = s.folder / "tokens";
  spool disk(small_spool(s.folder));
  write_file(beside, bytes(7));
  int written = 0;
  disk.keep_beside("tokens", [&](int) {
    ++written;
    write_file(beside, bytes(7));
  });
  append_all(disk, 1, 1);
  disk.look();
  EXPECT_EQ(written, 0);
  fs::remove(beside);
  disk.look();
  EXPECT_EQ(written, 1);
  fs::resize_file(beside, 0);
  disk.look();
  EXPECT_EQ(written, 2);
  fs::remove_all(s.folder);
  append_all(disk, 2, 2);
  EXPECT_TRUE(fs::exists(beside)) << "before any block is there";
  EXPECT_EQ(written, 3);
}

TEST(vanishing_spool, writes_its_notes_again_that_were_cut) {
  const spool_scene s;
  const fs::path notes = s.folder / "released.kl3r";
  {
    spool disk(small_spool(s.folder, three_blocks));
    append_all(disk, 1, 4);
    append_all(disk, 1, 4, 2);
    disk.release(1, 1);
    const auto before = read_file(notes);
    fs::resize_file(notes, 0);
    disk.look();
    EXPECT_EQ(read_file(notes), before);
    fs::resize_file(notes, 0);
    disk.release(2, 2); // writes its own note alone
    disk.look();
  }
  fs::remove(s.segment(2));
  spool next(small_spool(s.folder));
  ASSERT_EQ(next.found().gone.size(), 1U) << "of the lane that was not released since";
  EXPECT_EQ(next.found().gone.front().first, 4U);
}

TEST(vanishing_spool, makes_its_folder_again) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 4);
  disk.release(1, 1);
  fs::remove_all(s.folder);
  append_all(disk, 5, 5);
  disk.look();
  EXPECT_EQ(drain(disk, 1), (drained{{4, 5}, {2, 3}}));
  EXPECT_EQ(disk.lost_events(1), 6U);
  EXPECT_TRUE(fs::exists(s.folder / "released.kl3r"));
  EXPECT_THROW(spool{small_spool(s.folder)}, std::runtime_error) << "it has its lock";
}

TEST(vanishing_spool, brings_back_what_was_moved_with_its_folder) {
  const spool_scene s;
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 4);
  fs::rename(s.folder, s.outside.path() + "/archive");
  append_all(disk, 5, 5);
  disk.look();
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 5), {}}));
  EXPECT_EQ(disk.lost_events(1), 0U);
}

TEST(vanishing_spool, takes_nothing_while_something_else_has_the_folders_name) {
  const spool_scene s;
  const fs::path other = fs::path(s.outside.path()) / "other";
  fs::create_directory(other);
  spool disk(small_spool(s.folder, three_blocks));
  append_all(disk, 1, 4);
  fs::rename(s.folder, s.outside.path() + "/archive");
  fs::create_directory_symlink(other, s.folder);
  EXPECT_EQ(disk.append(spool_block(1, 5)), name_fault::folder_taken);
  EXPECT_EQ(disk.append(spool_block(1, 5)), name_fault::folder_taken);
  EXPECT_FALSE(disk.is_in_place());
  disk.look();
  EXPECT_TRUE(fs::is_empty(other));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 4), {}})) << "they can still be sent";
  fs::remove(s.folder);
  fs::rename(s.outside.path() + "/archive", s.folder);
  append_all(disk, 5, 5);
  EXPECT_TRUE(disk.is_in_place());
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 5), {}}));
}

TEST(vanishing_spool, keeps_the_open_segment_until_there_is_room_for_what_it_held) {
  const spool_scene s;
  spool disk(small_spool(s.folder), without_pauses());
  append_all(disk, 1, 3);
  fs::remove(s.segment(1));
  {
    const file_size_limit full(head_bytes + block_bytes + 1);
    EXPECT_TRUE(disk.append(spool_block(1, 4)));
    EXPECT_TRUE(disk.append(spool_block(1, 4)));
    EXPECT_FALSE(disk.is_in_place());
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}}));
  }
  append_all(disk, 4, 4);
  EXPECT_TRUE(disk.is_in_place());
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 4), {}}));
}

} // namespace
} // namespace l3
