// SPDX-License-Identifier: Apache-2.0
// A spool on a disk that refuses to be read for a moment, or for good: nothing is taken for damaged
// or lost that was only not given.
#include <string>

#include <gtest/gtest.h>

#include "tests/transport/output/failing_disk.hpp"
#include "tests/transport/output/spool_blocks.hpp"
#include "tests/transport/store/failing_reads.hpp"

namespace l3 {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// A read is tried three times: it fails, and the one behind it.
constexpr int moment = 4;
constexpr int very_long = 1 << 20;
constexpr std::uint64_t three_blocks = 16 + 3 * 264;
constexpr std::uint64_t last = 7;

class refused_spool : public testing::Test {
protected:
  void SetUp() override {
    spool disk(small_spool(folder_.path(), three_blocks));
    for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  }

  scratch_folder folder_;
};

/// Reads of the list of what was released and sent: it is read before the segments.
constexpr int reads_of_the_list = 2 * spool_releases::most_sessions;

/// How often a start reads. Most of it is the list of what was released, one entry at a time.
int reads_of_a_start(const fs::path& folder) {
  const failing_reads none(very_long, 0);
  const spool disk(small_spool(folder, three_blocks));
  return very_long - reads_before;
}

TEST_F(refused_spool, for_a_moment_at_the_start_costs_nothing) {
  const int reads = reads_of_a_start(folder_.path());
  for (int before = 0; before < reads; before += before < reads - 60 ? 97 : 1) {
    const failing_reads refused(before, moment);
    const spool disk(small_spool(folder_.path(), three_blocks));
    EXPECT_LT(reads_refused, moment) << before;
    const auto& found = disk.found();
    EXPECT_EQ(found.blocks, last) << before;
    EXPECT_EQ(found.damaged + found.torn_tails + found.unreadable + found.gone.size(), 0U)
        << before;
  }
  spool disk(small_spool(folder_.path(), three_blocks));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, last), {}}));
}

TEST_F(refused_spool, for_good_keeps_its_segments_as_they_are) {
  std::vector<std::uintmax_t> sizes;
  for (std::uint64_t n = 1; n <= 3; ++n)
    sizes.push_back(fs::file_size(segment_path(folder_.path(), n)));
  {
    const failing_reads refused(reads_of_the_list, very_long);
    EXPECT_EQ(spool(small_spool(folder_.path(), three_blocks)).found().unreadable, 3U);
  }
  for (std::uint64_t n = 1; n <= 3; ++n)
    EXPECT_EQ(fs::file_size(segment_path(folder_.path(), n)), sizes[n - 1]) << n;
}

/// Written anew without what it held, the list would call blocks gone that were released since.
TEST_F(refused_spool, for_good_of_its_list_ends_the_start_and_leaves_the_list) {
  const fs::path list = fs::path(folder_.path()) / spool_releases_name;
  const bytes before = read_file(list);
  for (const int at : {0, 1, reads_of_the_list / 2, reads_of_the_list - 1}) {
    const failing_reads refused(at, very_long);
    EXPECT_THROW(spool(small_spool(folder_.path(), three_blocks)), std::runtime_error) << at;
  }
  // The first look of a start is at the folder.
  for (const int error : {EIO, ENFILE, ENOMEM}) {
    {
      const failing_looks refused(1, very_long, error);
      EXPECT_THROW(spool(small_spool(folder_.path(), three_blocks)), std::runtime_error) << error;
    }
    EXPECT_EQ(read_file(list), before);
  }
  EXPECT_EQ(spool(small_spool(folder_.path(), three_blocks)).found().blocks, last);
}

void expect_no_hand(spool& disk, const std::string& when) {
  for (const std::string& text : disk.take_news())
    for (const char* hand :
         {"removed", "something else", "another program has", "no other program"})
      EXPECT_EQ(text.find(hand), text.npos) << when << ": " << text;
  EXPECT_EQ(disk.lost_events(1), 0U) << when;
}

TEST(refused_looks_of_a_spool, are_no_hands_deed_whenever_they_come) {
  for (const int error : {EIO, ESTALE, EINTR, ENOMEM, ENFILE}) {
    int before = 0;
    for (bool done = true; done; ++before) {
      const scratch_folder folder;
      const std::string when = std::to_string(error) + " after " + std::to_string(before);
      {
        spool_system system;
        system.now = hasty_clock;
        system.has_read_enough = [](time_point) { return true; };
        spool disk(small_spool(folder.path(), three_blocks), system);
        const failing_looks refused(before, moment, error);
        for (std::uint64_t i = 1; i <= last; ++i)
          until_it_works([&] { return disk.append(spool_block(1, i)); });
        for (int looks = 0; looks < 20; ++looks) disk.look();
        (void)disk.release(1, 2);
        done = failing_looks::all_done();
        expect_no_hand(disk, when);
        EXPECT_TRUE(disk.is_in_place()) << when;
        EXPECT_EQ(disk.totals().vanished, 0U) << when;
      }
      spool again(small_spool(folder.path(), three_blocks));
      EXPECT_EQ(drain(again, 1), (drained{numbers(3, last), {}})) << when;
      EXPECT_TRUE(again.found().gone.empty()) << when;
      expect_no_hand(again, when);
    }
    EXPECT_GT(before, 20);
  }
}

/// What a failed flush takes back is still behind the last block.
TEST(refused_cuts_of_a_spool, are_no_hands_deed) {
  const scratch_folder folder;
  spool_system system;
  system.now = hasty_clock;
  system.flush = flush_if_it_works;
  auto settings = small_spool(folder.path());
  settings.sync = true;
  spool disk(settings, system);
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  disk_works = false;
  cuts_refused = 1;
  EXPECT_EQ(disk.append(spool_block(1, 2)), std::errc::io_error);
  EXPECT_EQ(cuts_refused, 0);
  disk_works = true;
  until_it_works([&] { return disk.append(spool_block(1, 2)); });
  std::string news;
  for (const std::string& text : disk.take_news()) news += text + "\n";
  EXPECT_NE(news.find("the disk did not let it be cut to its last whole block"), news.npos) << news;
  EXPECT_EQ(news.find("program"), news.npos) << news;
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
}

TEST_F(refused_spool, for_a_moment_while_a_segment_is_written_anew_costs_nothing) {
  for (int before = 0; before < 4; ++before) {
    const scratch_folder folder;
    spool disk(small_spool(folder.path()));
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    fs::remove(segment_path(folder.path(), 1));
    {
      const failing_reads refused(before, moment);
      int looks = 0;
      do {
        disk.look();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } while (!disk.is_in_place() && ++looks < 40);
    }
    EXPECT_TRUE(disk.is_in_place()) << before;
    EXPECT_EQ(disk.lost_events(1), 0U) << before;
    EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 3), {}})) << before;
  }
}

} // namespace
} // namespace l3
