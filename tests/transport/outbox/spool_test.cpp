// SPDX-License-Identifier: Apache-2.0
// What a spool does while all is well, or the disk is full or failing.
#include "transport/outbox/spool.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/transport/outbox/failing_disk.hpp"
#include "tests/transport/outbox/spool_blocks.hpp"
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

TEST(spool, writes_what_the_formats_page_says) {
  const test::scratch_folder folder;
  const std::string& made = folder.path();
  spool disk(small_spool(made));
  ASSERT_FALSE(disk.append(spool_block(0x42, 1)));
  ASSERT_FALSE(disk.append(spool_block(0x42, 2)));
  ASSERT_FALSE(disk.append(spool_block(0x42, 1))); // it is there already
  const auto file = test::read_file(made + "/spool-000001.kl3");
  const unsigned char head[head_bytes] = {'K', 'L', '3', 'S', 2, 0, 0, 0, 1};
  ASSERT_EQ(file.size(), sizeof head + 2 * block_bytes);
  EXPECT_EQ(std::memcmp(file.data(), head, sizeof head), 0);
  const auto first = spool_block(0x42, 1);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), file.begin() + sizeof head));

  disk.release(0x42, 1);
  const auto notes = test::read_file(made + "/released.kl3r");
  const unsigned char note[24] = {'K',  'L', '3', 'R', 1, 0, 0, 0, //
                                  0x42, 0,   0,   0,   0, 0, 0, 0, //
                                  1,    0,   0,   0,   0, 0, 0, 0};
  ASSERT_EQ(notes.size(), spool_releases::most_sessions * 32);
  EXPECT_EQ(std::memcmp(notes.data(), note, sizeof note), 0);
  EXPECT_EQ(load<std::uint32_t>(notes.data() + 28), crc32c(std::span(notes).first(28)));
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

TEST(spool, without_sync_reports_what_the_disk_did_not_keep_and_flushes_from_then_on) {
  const test::scratch_folder folder;
  spool_system system;
  system.flush = test::flush_if_it_works;
  spool disk(small_spool(folder.path()), system);
  test::disk_works = false;
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  std::error_code error;
  for (int i = 0; !error && i < 10'000; ++i) {
    error = disk.flush_in_background(steady_clock::now());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(error, std::errc::io_error);
  EXPECT_TRUE(disk.append(spool_block(1, 2)));
  test::disk_works = true;
  EXPECT_FALSE(disk.append(spool_block(1, 2)));
  EXPECT_EQ(last_of(disk, 1), 2U);
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
TEST(spool, ends_without_a_file_that_is_written_or_read) {
  for (const bool is_read : {false, true}) {
    const test::scratch_folder folder;
    spool disk(small_spool(folder.path(), is_read ? head_bytes + block_bytes : 64 << 10));
    const std::uint64_t last = is_read ? 2 : 1; // in a file of its own
    for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    EXPECT_EQ(disk.why_ended(), "");
    fs::remove(test::segment_path(folder.path(), 1));
    test::bytes block;
    EXPECT_EQ(is_read ? disk.read(1, 1, block).error : disk.append(spool_block(1, 2)),
              std::errc::no_such_file_or_directory);
    EXPECT_EQ(last_of(disk, 1), last);
    EXPECT_EQ(disk.why_ended(), test::segment_path(folder.path(), 1).string() +
                                    " was removed while the daemon used it");
    EXPECT_EQ(disk.totals().damaged, 0U);
    disk.end("a later reason");
    EXPECT_NE(disk.why_ended(), "a later reason");
  }
}

TEST(spool, says_why_it_cannot_begin) {
  const test::scratch_folder folder;
  const spool first(small_spool(folder.path()));
  const std::string file = folder.path() + "/file";
  test::write_file(file, {});
  for (const auto& [at, why] :
       {std::pair(folder.path(), folder.path() + " is in use by another daemon: give each its own"),
        std::pair(file, file + ": ")}) {
    try {
      const spool second(small_spool(at));
      ADD_FAILURE() << at;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  }
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

/// It is full in the head of a new file, or in a block.
TEST(spool, leaves_no_half_file_and_no_half_block_when_it_cannot_write) {
  const test::scratch_folder folder;
  spool disk(small_spool(folder.path()));
  const auto file = test::segment_path(folder.path(), 1);
  for (const std::uint64_t stored : {0, 1}) {
    {
      const std::uint64_t good = stored == 0 ? 0 : head_bytes + block_bytes;
      const test::file_size_limit limit(good + head_bytes / 2);
      EXPECT_EQ(disk.append(spool_block(1, stored + 1)), std::errc::file_too_large);
      EXPECT_EQ(fs::exists(file) ? fs::file_size(file) : 0, good);
    }
    EXPECT_FALSE(disk.append(spool_block(1, stored + 1)));
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, stored + 1), {}}));
  }
}

} // namespace
} // namespace l3
