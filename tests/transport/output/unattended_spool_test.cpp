// SPDX-License-Identifier: Apache-2.0
// What is said of a spool's folder while no spool has it open.
#include "transport/output/unattended_spool.hpp"

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/transport/output/spool_blocks.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using test::small_spool;
using test::spool_block;

constexpr std::uint64_t block_bytes = 264; ///< of spool_block()

bool becomes(const unattended_spool& watch, std::uint64_t blocks) {
  const auto is_so = [&] {
    const auto now = watch.holds();
    return now && now->totals.blocks == blocks;
  };
  for (const auto end = steady_clock::now() + 60s; !is_so() && steady_clock::now() < end;)
    std::this_thread::sleep_for(1ms);
  return is_so();
}

TEST(unattended_spool, says_what_waits_and_changes_nothing) {
  const test::scratch_folder folder;
  const auto settings = small_spool(folder.path(), 2000);
  {
    spool disk(settings);
    for (std::uint64_t i = 1; i <= 30; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(disk.append(spool_block(2, i)));
    disk.release(1, 10);
  }
  const auto last = test::segment_path(folder.path(),
                                       store_file_numbers(folder.path(), store_kind::spool).back());
  std::ofstream(last, std::ios::app) << "a torn end";
  const auto before = std::pair(test::files_in(folder.path()), test::read_file(last));
  unattended_spool watch(settings, 1ms);
  ASSERT_TRUE(becomes(watch, 23));
  const auto now = watch.holds()->totals;
  watch.stop();
  EXPECT_TRUE(watch.is_stopped());
  EXPECT_EQ(now.events, 23U * 3);
  EXPECT_EQ(now.bytes, 23 * block_bytes);
  EXPECT_EQ(std::pair(test::files_in(folder.path()), test::read_file(last)), before);
  EXPECT_EQ(spool(settings).totals().events, now.events) << "what the next spool finds";
}

TEST(unattended_spool, sees_what_comes_and_goes) {
  const test::scratch_folder folder;
  const auto settings = small_spool(folder.path() + "/spool");
  unattended_spool watch(settings, 1ms);
  EXPECT_TRUE(becomes(watch, 0)) << "no spool has made the folder yet";
  EXPECT_EQ(watch.holds()->room, mebibytes(8).bytes);
  EXPECT_FALSE(std::filesystem::exists(settings.folder));
  spool disk(settings); // of another daemon
  ASSERT_FALSE(disk.append(spool_block(1, 1)));
  ASSERT_FALSE(disk.append(spool_block(1, 2)));
  EXPECT_TRUE(becomes(watch, 2));
  disk.release(1, 1);
  EXPECT_TRUE(becomes(watch, 1));
  EXPECT_LT(watch.holds()->room, mebibytes(8).bytes);
}

TEST(unattended_spool, passes_over_what_it_cannot_read) {
  const test::scratch_folder folder;
  const auto settings = small_spool(folder.path(), 2000);
  {
    spool disk(settings);
    for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_FALSE(disk.append(spool_block(1, i)));
  }
  std::filesystem::create_symlink("/dev/zero", test::segment_path(folder.path(), 8));
  std::ofstream(test::segment_path(folder.path(), 9)) << "no segment, and longer than its head";
  const unattended_spool watch(settings, 1ms);
  EXPECT_TRUE(becomes(watch, 10));
}

} // namespace
} // namespace l3
