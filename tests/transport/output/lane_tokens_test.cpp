// SPDX-License-Identifier: Apache-2.0
#include "transport/output/lane_tokens.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/transport/store/failing_reads.hpp"
#include "tests/transport/store/store_files.hpp"

namespace l3 {
namespace {

using namespace test;

std::filesystem::path file_in(const scratch_folder& folder) {
  return std::filesystem::path(folder.path()) / "tokens.kl3t";
}

TEST(lane_tokens, the_next_process_proves_the_lanes_that_it_finds) {
  const scratch_folder folder;
  lane_tokens first;
  const std::uint64_t found = first.new_session();
  const std::uint64_t gone = first.new_session();
  EXPECT_EQ(first.keep_in(folder.path(), {}), "");
  struct stat is {};
  ASSERT_EQ(::stat(file_in(folder).c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0600U) << "a secret";

  for (int restart = 0; restart < 3; ++restart) {
    lane_tokens next;
    const std::uint64_t own = next.new_session();
    const std::vector<std::uint64_t> lanes{found, 77};
    EXPECT_EQ(next.keep_in(folder.path(), lanes), "");
    ASSERT_NE(next.find(found), nullptr);
    EXPECT_EQ(*next.find(found), *first.find(found));
    EXPECT_EQ(session_of(*next.find(own)), own);
    EXPECT_EQ(next.find(gone), nullptr) << "nothing of it was on disk";
    EXPECT_EQ(next.find(77), nullptr) << "a lane of version 0.1.0";
  }
}

TEST(lane_tokens, what_cannot_be_kept_is_not_used) {
  lane_tokens tokens;
  const std::uint64_t session = tokens.new_session();
  EXPECT_NE(tokens.find(session), nullptr);
  EXPECT_NE(tokens.keep_in("/proc/self", {}), "");
  EXPECT_EQ(tokens.find(session), nullptr);
}

/// Another start may read them.
TEST(lane_tokens, that_the_disk_does_not_give_stay) {
  const scratch_folder folder;
  lane_tokens first;
  const std::vector<std::uint64_t> lanes{first.new_session(), first.new_session()};
  EXPECT_EQ(first.keep_in(folder.path(), {}), "");
  for (int at = 0; at < 3; ++at) {
    const failing_reads refused(at, 1 << 10);
    lane_tokens tokens;
    const std::uint64_t own = tokens.new_session();
    EXPECT_EQ(tokens.keep_in(folder.path(), lanes), "Input/output error") << at;
    EXPECT_EQ(tokens.find(own), nullptr) << at;
  }
  for (const int error : {EIO, ENOMEM, ENFILE}) {
    const failing_looks refused(0, 1 << 10, error);
    EXPECT_NE(lane_tokens().keep_in(folder.path(), lanes), "") << error;
  }
  lane_tokens next;
  EXPECT_EQ(next.keep_in(folder.path(), lanes), "");
  for (const std::uint64_t session : lanes) EXPECT_NE(next.find(session), nullptr);
}

TEST(lane_tokens, damage_costs_the_damaged_entry_only) {
  const scratch_folder folder;
  lane_tokens first;
  const std::vector<std::uint64_t> lanes{first.new_session(), first.new_session()};
  EXPECT_EQ(first.keep_in(folder.path(), {}), "");
  std::fstream file(file_in(folder), std::ios::in | std::ios::out | std::ios::binary);
  const int was = file.seekg(9).get(); // any byte: tokens are drawn
  file.seekp(9).put(static_cast<char>(was ^ 1)).seekp(0, std::ios::end).write("torn", 4);
  file.close();
  lane_tokens next;
  EXPECT_EQ(next.keep_in(folder.path(), lanes), "");
  const auto known = (next.find(lanes[0]) != nullptr) + (next.find(lanes[1]) != nullptr);
  EXPECT_EQ(known, 1);
}

TEST(lane_tokens, are_4096_in_a_file_and_further_ones_are_not_read) {
  const scratch_folder folder;
  const scratch_folder another;
  lane_tokens first;
  std::vector<std::uint64_t> lanes;
  for (std::size_t n = 0; n < lane_tokens::most; ++n) lanes.push_back(first.new_session());
  EXPECT_EQ(first.keep_in(folder.path(), {}), "");
  EXPECT_EQ(std::filesystem::file_size(file_in(folder)), lane_tokens::most * 32);
  lane_tokens other;
  lanes.push_back(other.new_session());
  EXPECT_EQ(other.keep_in(another.path(), {}), "");
  const auto further = read_file(file_in(another));
  std::ofstream(file_in(folder), std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(further.data()),
             static_cast<std::streamsize>(further.size()));
  lane_tokens next;
  EXPECT_EQ(next.keep_in(folder.path(), lanes), "");
  std::size_t known = 0;
  for (const std::uint64_t session : lanes) known += next.find(session) != nullptr ? 1 : 0;
  EXPECT_EQ(known, lane_tokens::most);
  EXPECT_EQ(next.find(lanes.back()), nullptr) << "behind the others";
}

TEST(lane_tokens, a_link_in_the_place_of_the_file_is_not_followed) {
  const scratch_folder folder;
  const auto target = std::filesystem::path(folder.path()) / "mine";
  std::ofstream(target) << "text";
  std::filesystem::create_symlink(target, file_in(folder));
  std::filesystem::create_symlink(target, file_in(folder).string() + ".new");
  lane_tokens tokens;
  (void)tokens.new_session();
  EXPECT_EQ(tokens.keep_in(folder.path(), {}), "");
  EXPECT_EQ(std::filesystem::file_size(target), 4U);
  EXPECT_FALSE(std::filesystem::is_symlink(file_in(folder)));
}

} // namespace
} // namespace l3
