// SPDX-License-Identifier: Apache-2.0
// A spool on a disk that refuses to be read for a moment, or for good: nothing is taken for damaged
// or lost that was only not given.
#include <gtest/gtest.h>

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
    const failing_reads refused(0, very_long);
    EXPECT_EQ(spool(small_spool(folder_.path(), three_blocks)).found().unreadable, 3U);
  }
  for (std::uint64_t n = 1; n <= 3; ++n)
    EXPECT_EQ(fs::file_size(segment_path(folder_.path(), n)), sizes[n - 1]) << n;
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
