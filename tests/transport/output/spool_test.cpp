// SPDX-License-Identifier: Apache-2.0
// What a spool does while all is well, or the disk is full or failing.
#include "transport/output/spool.hpp"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/transport/output/failing_disk.hpp"
#include "tests/transport/output/spool_blocks.hpp"
#include "transport/format/spool.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
using test::block_bytes;
using test::drain;
using test::drained;
using test::first_of;
using test::head_bytes;
using test::last_of;
using test::numbers;
using test::small_spool;
using test::spool_block;

TEST(spool, gives_back_what_was_appended) {
  const test::scratch_folder folder;
  const std::string made = folder.path() + "/made/for/it";
  spool disk(small_spool(made));
  EXPECT_EQ(fs::status(made).permissions(), fs::perms(0750));
  EXPECT_FALSE(first_of(disk, 1));
  EXPECT_FALSE(last_of(disk, 1));
  test::bytes block;
  EXPECT_EQ(disk.read(1, 1, block).error, std::errc::no_such_file_or_directory);
  for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  EXPECT_EQ(first_of(disk, 1), 1U);
  EXPECT_EQ(last_of(disk, 1), 5U);
  EXPECT_EQ(disk.totals().blocks, 5U);
  EXPECT_EQ(disk.totals().events, 15U);
  EXPECT_EQ(disk.totals().bytes, 5 * block_bytes);
  EXPECT_EQ(disk.totals().disk_bytes, head_bytes + 5 * block_bytes);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 5), {}}));
  const auto result = disk.read(1, 3, block);
  EXPECT_TRUE(result.whole);
  EXPECT_EQ(disk.read(1, 6, block).error, std::errc::no_such_file_or_directory);

  disk.release(1, 3);
  EXPECT_EQ(first_of(disk, 1), 4U);
  EXPECT_EQ(disk.totals().blocks, 2U);
  EXPECT_EQ(disk.totals().events, 6U);
  EXPECT_EQ(disk.totals().bytes, 2 * block_bytes);
  EXPECT_EQ(disk.read(1, 3, block).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(drain(disk, 1), (drained{numbers(4, 5), {}}));
  EXPECT_EQ(disk.totals().damaged, 0U);
}

TEST(spool, writes_what_the_formats_page_says) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  ASSERT_FALSE(disk.append(spool_block(0x42, 1)));
  ASSERT_FALSE(disk.append(spool_block(0x42, 2)));
  const auto file = test::read_file(folder.path() + "/spool-000001.kl3");
  const unsigned char head[head_bytes] = {'K', 'L', '3', 'S', 2, 0, 0, 0, 1};
  ASSERT_EQ(file.size(), sizeof head + 2 * block_bytes);
  EXPECT_EQ(std::memcmp(file.data(), head, sizeof head), 0);
  const auto first = spool_block(0x42, 1);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), file.begin() + sizeof head));

  disk.release(0x42, 1);
  const auto notes = test::read_file(folder.path() + "/released.kl3r");
  const unsigned char note[24] = {'K',  'L', '3', 'R', 1, 0, 0, 0, //
                                  0x42, 0,   0,   0,   0, 0, 0, 0, //
                                  1,    0,   0,   0,   0, 0, 0, 0};
  ASSERT_EQ(notes.size(), spool_releases::most_sessions * 32);
  EXPECT_EQ(std::memcmp(notes.data(), note, sizeof note), 0);
  EXPECT_EQ(load<std::uint32_t>(notes.data() + 28), crc32c(std::span(notes).first(28)));
}

TEST(spool, puts_empty_blocks_in_the_place_of_numbers_that_a_lane_leaves_out) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  for (const std::uint64_t i : {2, 5, 6}) ASSERT_FALSE(disk.append(spool_block(9, i)));
  EXPECT_EQ(drain(disk, 9), (drained{{2, 5, 6}, {3, 4}}));
  test::bytes block;
  ASSERT_FALSE(disk.read(9, 3, block).error);
  block_header header;
  ASSERT_EQ(check_block(block, header), block_fault::none);
  EXPECT_EQ(header.run, 7U);
  EXPECT_EQ(header.node, 9U);
  EXPECT_EQ(disk.totals().damaged, 0U);
  EXPECT_EQ(disk.totals().missing, 2U) << "once each";
  EXPECT_EQ(disk.totals().blocks, 3U);
  disk.release(9, 6);
  EXPECT_EQ(disk.totals().blocks, 0U);
}

TEST(spool, removes_a_segment_when_no_block_in_it_is_needed) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path(), 4 * block_bytes + head_bytes));
  for (std::uint64_t i = 1; i <= 9; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  ASSERT_FALSE(disk.append(spool_block(2, 1)));
  for (std::uint64_t i = 10; i <= 12; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  const auto there = [&](std::uint64_t n) {
    return fs::exists(test::segment_path(folder.path(), n));
  };
  EXPECT_TRUE(there(1) && there(2) && there(3) && there(4));
  disk.release(1, 3);
  EXPECT_TRUE(there(1));
  disk.release(1, 4);
  EXPECT_FALSE(there(1));
  EXPECT_EQ(disk.totals().disk_bytes, 3 * head_bytes + 9 * block_bytes);
  disk.release(1, 12);
  EXPECT_FALSE(there(2));
  EXPECT_TRUE(there(3)) << "the other lane's block";
  EXPECT_TRUE(there(4)) << "being written";
  disk.release(2, 1);
  EXPECT_FALSE(there(3));
  EXPECT_EQ(disk.totals().blocks, 0U);
  EXPECT_EQ(disk.totals().disk_bytes, head_bytes + block_bytes);
}

TEST(spool, leaves_nothing_behind_when_everything_was_released) {
  const test::scratch_folder folder;
  {
    spool disk(small_spool(folder.path()));
    for (std::uint64_t i = 1; i <= 9; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    disk.release(1, 9);
  }
  EXPECT_EQ(test::files_in(folder.path()), 1U) << "released.kl3r alone";
  for (const auto b : test::read_file(folder.path() + "/released.kl3r")) ASSERT_EQ(b, std::byte{0});
}

TEST(spool, does_not_keep_a_block_that_was_released_before_it_was_written) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  disk.release(1, 5);
  EXPECT_FALSE(disk.append(spool_block(1, 5)));
  EXPECT_FALSE(disk.append(spool_block(1, 6)));
  EXPECT_EQ(first_of(disk, 1), 6U);
  EXPECT_EQ(disk.totals().blocks, 1U);
}

spool* released_meanwhile = nullptr;

TEST(spool, remembers_a_release_that_comes_while_the_block_is_being_written) {
  const test::scratch_folder folder;
  auto settings = small_spool(folder.path());
  settings.sync = true;
  spool_system system;
  system.flush = [](int) {
    if (released_meanwhile != nullptr) released_meanwhile->release(1, 1);
    return 0;
  };
  {
    spool disk(settings, system);
    ASSERT_FALSE(disk.append(spool_block(2, 1)));
    released_meanwhile = &disk;
    EXPECT_FALSE(disk.append(spool_block(1, 1)));
    released_meanwhile = nullptr;
    EXPECT_FALSE(first_of(disk, 1));
    EXPECT_EQ(disk.totals().blocks, 1U);
  }
  const spool again(settings, system);
  EXPECT_EQ(again.totals().blocks, 1U) << "it does not come again";
}

/// An operator's error: what was appended before counts as on disk, nothing behind it does.
TEST(spool, ends_without_the_file_that_is_written) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  EXPECT_EQ(disk.why_ended(), "");
  fs::remove(test::segment_path(folder.path(), 1));
  EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::no_such_file_or_directory);
  EXPECT_EQ(last_of(disk, 1), 1U);
  EXPECT_EQ(disk.why_ended(), test::segment_path(folder.path(), 1).string() +
                                  " was removed while the daemon used it");
}

TEST(spool, ends_without_a_file_that_is_read) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path(), head_bytes + block_bytes));
  for (std::uint64_t i = 1; i <= 2; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  fs::remove(test::segment_path(folder.path(), 1));
  test::bytes block;
  EXPECT_TRUE(disk.read(1, 1, block).error);
  EXPECT_EQ(disk.why_ended(), test::segment_path(folder.path(), 1).string() +
                                  " was removed while the daemon used it");
  EXPECT_EQ(disk.totals().damaged, 0U);
  disk.end("a later reason");
  EXPECT_NE(disk.why_ended(), "a later reason");
}

TEST(spool, counts_what_lies_in_a_folder_that_no_daemon_uses) {
  const test::scratch_folder folder;
  EXPECT_EQ(totals_in_spool(folder.path() + "/none", {}).blocks, 0U);
  {
    spool disk(small_spool(folder.path(), head_bytes + 2 * block_bytes));
    for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    disk.release(1, 1);
  }
  const auto totals = totals_in_spool(folder.path(), {});
  EXPECT_EQ(totals.blocks, 4U);
  EXPECT_EQ(totals.events, 4U * 3U);
  EXPECT_EQ(totals.disk_bytes, 3 * head_bytes + 5 * block_bytes);
}

TEST(spool, belongs_to_one_daemon) {
  const test::scratch_folder folder;
  const spool first(small_spool(folder.path()));
  try {
    const spool second(small_spool(folder.path()));
    FAIL() << "a second one";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(), folder.path() + " is in use by another daemon: give each its own");
  }
}

TEST(spool, says_why_it_cannot_begin) {
  const test::scratch_folder folder;
  test::write_file(folder.path() + "/file", {});
  try {
    const spool in_a_file(small_spool(folder.path() + "/file"));
    FAIL() << "a file is no folder";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(folder.path() + "/file: "), std::string::npos) << e.what();
  }
}

TEST(spool, stops_at_its_size_and_goes_on_when_there_is_room_again) {
  const test::scratch_folder folder;
  auto settings = small_spool(folder.path(), 4 * block_bytes + head_bytes);
  settings.size = {4 * settings.segment.bytes};
  spool disk(settings);
  std::uint64_t stored = 0;
  std::error_code error;
  while (!(error = disk.append(spool_block(1, stored + 1)))) ++stored;
  EXPECT_EQ(error, std::errc::no_space_on_device);
  EXPECT_EQ(stored, 16U);
  EXPECT_LE(disk.totals().disk_bytes, settings.size.bytes);
  EXPECT_LT(disk.capacity(), block_bytes + head_bytes);
  EXPECT_TRUE(disk.full());
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, stored), {}}));

  disk.release(1, 3);
  EXPECT_TRUE(disk.full()) << "the segment is still needed";
  disk.release(1, 4);
  EXPECT_FALSE(disk.full());
  EXPECT_FALSE(disk.append(spool_block(1, stored + 1)));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(5, stored + 1), {}}));
}

std::uint64_t said_to_be_free = 0;

TEST(spool, leaves_the_disk_its_floor) {
  const test::scratch_folder folder;
  auto settings = small_spool(folder.path());
  settings.floor = {10'000};
  spool_system system;
  system.free_bytes = [](int) { return said_to_be_free; };
  said_to_be_free = 10'000 + head_bytes + block_bytes;
  spool disk(settings, system);
  EXPECT_EQ(disk.capacity(), head_bytes + block_bytes);
  EXPECT_FALSE(disk.append(spool_block(1, 1)));
  said_to_be_free = 10'000 + block_bytes - 1;
  EXPECT_FALSE(disk.full()) << "nothing was refused";
  EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::no_space_on_device);
  EXPECT_TRUE(disk.full());
  EXPECT_EQ(disk.totals().disk_bytes, head_bytes + block_bytes);
  said_to_be_free = 9'000;
  EXPECT_EQ(disk.capacity(), 0U);
  said_to_be_free = 10'000 + block_bytes;
  EXPECT_FALSE(disk.full());
  EXPECT_FALSE(disk.append(spool_block(1, 2)));
  EXPECT_FALSE(disk.full());
}

std::string small_folder;

TEST(spool, gives_up_the_file_being_written_if_that_makes_room) {
  const test::scratch_folder folder;
  small_folder = folder.path();
  spool_system system;
  system.free_bytes = [](int) {
    std::uint64_t free = head_bytes + 3 * block_bytes;
    for (const auto& file : fs::directory_iterator(small_folder)) {
      if (file.path().extension() == ".kl3") free -= file.file_size();
    }
    return free;
  };
  spool disk(small_spool(folder.path()), system);
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  EXPECT_EQ(disk.append(spool_block(1, 4)), std::errc::no_space_on_device);
  disk.release(1, 2);
  EXPECT_TRUE(disk.full()) << "a block in it is needed";
  EXPECT_EQ(disk.append(spool_block(1, 4)), std::errc::no_space_on_device);
  disk.release(1, 3);
  EXPECT_FALSE(disk.full());
  EXPECT_EQ(disk.capacity(), head_bytes + 3 * block_bytes);
  EXPECT_FALSE(disk.append(spool_block(1, 4)));
  EXPECT_EQ(drain(disk, 1), (drained{{4}, {}}));
  EXPECT_FALSE(fs::exists(test::segment_path(folder.path(), 1)));
}

TEST(spool, bounds_its_index) {
  const test::scratch_folder folder;
  spool_system system;
  system.most_blocks = 3;
  spool disk(small_spool(folder.path()), system);
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  EXPECT_EQ(disk.append(spool_block(1, 4)), std::errc::no_space_on_device);
  EXPECT_TRUE(disk.full());
  disk.release(1, 1);
  EXPECT_FALSE(disk.full());
  EXPECT_FALSE(disk.append(spool_block(1, 4)));
}

TEST(spool, takes_back_a_block_that_the_disk_did_not_confirm) {
  const test::scratch_folder folder;
  auto settings = small_spool(folder.path());
  settings.sync = true;
  spool_system system;
  system.flush = test::flush_if_it_works;
  test::disk_works = true;
  {
    spool disk(settings, system);
    ASSERT_FALSE(disk.append(spool_block(1, 1)));
    test::disk_works = false;
    EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::io_error);
    EXPECT_EQ(last_of(disk, 1), 1U);
    EXPECT_EQ(fs::file_size(test::segment_path(folder.path(), 1)), head_bytes + block_bytes);
    EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::io_error) << "nor a new file";
    EXPECT_FALSE(disk.full()) << "room is not what is missing";
    test::disk_works = true;
    EXPECT_FALSE(disk.append(spool_block(1, 2)));
    EXPECT_TRUE(fs::exists(test::segment_path(folder.path(), 2)))
        << "what is doubtful is left alone";
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
  }
  spool again(settings, system);
  EXPECT_EQ(drain(again, 1), (drained{numbers(1, 2), {}}));
  EXPECT_EQ(again.totals().damaged, 0U);
}

TEST(spool, ends_with_a_disk_that_fails_for_long) {
  const test::scratch_folder folder;
  spool_system system;
  system.longest_failure = {};
  spool disk(small_spool(folder.path()), system);
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  const test::file_size_limit limit(head_bytes + block_bytes + block_bytes / 2);
  EXPECT_TRUE(disk.append(spool_block(1, 2)));
  EXPECT_EQ(disk.why_ended(), "the disk of " + folder.path() +
                                  " has refused every block for a minute: File too large");
}

TEST(spool, leaves_no_half_block_when_it_cannot_write) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  {
    const test::file_size_limit limit(head_bytes + block_bytes + block_bytes / 2);
    EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::file_too_large);
    EXPECT_EQ(fs::file_size(test::segment_path(folder.path(), 1)), head_bytes + block_bytes);
  }
  EXPECT_FALSE(disk.append(spool_block(1, 2)));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
}

TEST(spool, takes_no_want_of_descriptors_for_damage) {
  const test::scratch_folder folder;
  ASSERT_FALSE(spool(small_spool(folder.path())).append(spool_block(1, 1)));
  spool disk(small_spool(folder.path()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  test::bytes block;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto result = disk.read(1, 1, block);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(result.error, std::errc::too_many_files_open);
  EXPECT_EQ(drain(disk, 1), (drained{{1}, {}}));
  EXPECT_EQ(disk.totals().damaged, 0U);
}

TEST(spool, makes_no_file_where_none_can_be_made) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  {
    const test::file_size_limit limit(head_bytes / 2);
    EXPECT_EQ(disk.append(spool_block(1, 1)), std::errc::file_too_large);
    EXPECT_FALSE(fs::exists(test::segment_path(folder.path(), 1)));
  }
  EXPECT_FALSE(disk.append(spool_block(1, 1)));
  EXPECT_EQ(drain(disk, 1), (drained{{1}, {}}));
}

/// A file system of its own, as small as is asked for.
class small_disk {
public:
  explicit small_disk(std::string folder)
      : folder_(std::move(folder)),
        is_there_(::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=128k") == 0) {}
  ~small_disk() {
    if (is_there_) ::umount(folder_.c_str());
  }
  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] bool grow() const {
    return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=1m") == 0;
  }

private:
  std::string folder_;
  bool is_there_;
};

TEST(spool, survives_a_full_disk) {
  const test::scratch_folder folder;
  const small_disk device(folder.path());
  if (!device.is_there()) {
    GTEST_SKIP() << "no right to mount a small file system; "
                    "leaves_no_half_block_when_it_cannot_write covers the rest";
  }
  constexpr std::size_t payload = 5'000; // not a whole number of pages: the disk fills in mid-block
  spool_system system;
  system.free_bytes = [](int) { return std::uint64_t{1} << 30; }; // so that write() has to say it
  std::uint64_t stored = 0;
  {
    spool disk(small_spool(folder.path()), system);
    std::error_code error;
    while (!(error = disk.append(spool_block(1, stored + 1, payload)))) ++stored;
    EXPECT_EQ(error, std::errc::no_space_on_device);
    ASSERT_GT(stored, 8U);
    EXPECT_TRUE(disk.full()) << "although there seems to be room";
    EXPECT_EQ(drain(disk, 1, payload), (drained{numbers(1, stored), {}}));
    disk.release(1, 2);
    // Another start, with not a byte to spare: what was noted is remembered, nothing is torn.
  }
  {
    spool disk(small_spool(folder.path()), system);
    EXPECT_EQ(disk.found().torn_tails, 0U);
    EXPECT_EQ(drain(disk, 1, payload), (drained{numbers(3, stored), {}}));
    EXPECT_EQ(disk.append(spool_block(1, stored + 1, payload)), std::errc::no_space_on_device);
    ASSERT_TRUE(device.grow());
    EXPECT_FALSE(disk.append(spool_block(1, stored + 1, payload)));
    EXPECT_FALSE(disk.full());
    EXPECT_EQ(drain(disk, 1, payload), (drained{numbers(3, stored + 1), {}}));
  }
}

} // namespace
} // namespace l3
