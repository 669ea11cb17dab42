// SPDX-License-Identifier: Apache-2.0
// A spool begins where its files are links, pipes, or so long that no reading ends, and passes over
// numbers that lack.
#include <sys/stat.h>

#include "tests/transport/output/vanishing_spool.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(vanishing_spool, leaves_links_and_pipes_alone_that_have_names_of_its_files) {
  const spool_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  const auto before = spool_block(9, 9);
  write_file(target, before);
  fs::create_directory(s.folder);
  fs::create_symlink(target, s.segment(3));
  fs::create_symlink(target, s.folder / "released.kl3r");
  fs::create_directory_symlink(s.outside.path(), s.folder / "damaged");
  ASSERT_EQ(::mkfifo(s.segment(5).c_str(), 0644), 0);
  spool disk(small_spool(s.folder));
  EXPECT_EQ(disk.found().strangers,
            (std::vector<std::string>{"spool-000003.kl3", "spool-000005.kl3"}));
  append_all(disk, 1, 3);
  EXPECT_TRUE(fs::exists(s.segment(6)));
  disk.release(1, 2);
  EXPECT_EQ(read_file(target), before);
  EXPECT_FALSE(fs::is_symlink(s.folder / "released.kl3r"));
  EXPECT_EQ(drain(disk, 1), (drained{{3}, {}}));
}

TEST(vanishing_spool, leaves_a_file_with_a_second_name_elsewhere_alone) {
  const spool_scene s;
  const fs::path target = fs::path(s.outside.path()) / "target";
  const bytes before(spool_releases::most_sessions * 32, std::byte{'x'});
  write_file(target, before);
  fs::create_directory(s.folder);
  fs::create_hard_link(target, s.folder / "released.kl3r");
  spool disk(small_spool(s.folder));
  append_all(disk, 1, 3);
  disk.release(1, 2);
  EXPECT_EQ(read_file(target), before);
}

TEST(vanishing_spool, reads_a_segment_of_200_gb_without_data_at_once) {
  const spool_scene s;
  {
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 2);
  }
  fs::resize_file(s.segment(1), std::uintmax_t{200} << 30);
  spool disk(small_spool(s.folder));
  EXPECT_EQ(drain(disk, 1), (drained{numbers(1, 2), {}}));
  EXPECT_EQ(fs::file_size(s.segment(1)), head_bytes + 2 * block_bytes);
}

TEST(vanishing_spool, ends_the_reading_of_its_files_when_it_is_told) {
  const spool_scene s;
  {
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 20);
  }
  const auto before = read_file(s.segment(1));
  spool_system system;
  int asked = 0;
  system.stop = [&] { return ++asked > 3; };
  EXPECT_THROW((spool{small_spool(s.folder), system}), scan_stopped);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(read_file(s.segment(1)), before);
}

TEST(vanishing_spool, fills_a_hole_of_4095_numbers_and_none_that_is_larger) {
  for (const std::uint64_t left_out : {4095U, 4096U}) {
    const spool_scene s;
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 1);
    append_all(disk, left_out + 2, left_out + 2);
    const auto lane = disk.lane(1);
    ASSERT_TRUE(lane);
    EXPECT_EQ(lane->end, left_out == 4095 ? left_out + 2 : 1) << left_out;
  }
}

TEST(vanishing_spool, passes_over_a_large_hole_in_a_lane) {
  const spool_scene s;
  constexpr std::uint64_t far = 1'000'000'000;
  {
    spool disk(small_spool(s.folder));
    append_all(disk, 1, 2);
    append_all(disk, 5, 5);
    append_all(disk, far, far + 1);
  }
  spool disk(small_spool(s.folder));
  spool_backlog backlog(disk, {2, 7, 3});
  std::vector<std::uint64_t> sent;
  ASSERT_TRUE(backlog.next_lane());
  for (int lanes = 0; lanes < 5; ++lanes) {
    const auto lane = backlog.lane();
    ASSERT_LT(lane.sealed - lane.stored, 10U);
    for (auto next = lane.stored + 1; next <= lane.sealed; ++next) {
      EXPECT_TRUE(backlog.hold(next));
      sent.push_back(next);
      backlog.stored_up_to(next, {});
    }
    if (!backlog.next_lane()) break;
  }
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, far, far + 1}));
  EXPECT_EQ(disk.totals().blocks, 0U);
  EXPECT_EQ(disk.totals().missing, 2U + far - 6);
}

} // namespace
} // namespace l3
