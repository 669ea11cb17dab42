// SPDX-License-Identifier: Apache-2.0
// A disk that refuses what it holds, for a moment or for good: nothing is taken for damaged or lost
// that was only not given.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/transport/store/failing_reads.hpp"
#include "tests/transport/store/store_files.hpp"

namespace l3 {
namespace {

using namespace test;

/// A read is tried three times: it fails, and the one behind it.
constexpr int moment = 4;
constexpr int very_long = 1 << 20;
constexpr std::uint64_t last = 6;

class refused_reads : public testing::Test {
protected:
  /// A store of two files whose receiver was killed: the last one is not complete.
  void SetUp() override {
    store_settings small{folder_.path()};
    small.file_bytes = 3 * block_of(1).size();
    store_writer store(small);
    for (std::uint64_t i = 1; i <= last; ++i) ASSERT_FALSE(append(store, block_of(i)));
    ASSERT_FALSE(store.commit());
  }
  [[nodiscard]] sequences all() const {
    sequences s;
    for (std::uint64_t i = 1; i <= last; ++i) s.emplace_back(session, i);
    return s;
  }

  scratch_folder folder_;
};

TEST_F(refused_reads, for_a_moment_at_the_start_cost_nothing) {
  int before = 0;
  for (bool done = true; done; ++before) {
    const failing_reads refused(before, moment);
    store_writer store({folder_.path()});
    done = failing_reads::all_done();
    EXPECT_EQ(store.last_stored(session), last) << before;
    EXPECT_EQ(store.damaged(), 0U) << before;
    EXPECT_EQ(store.torn_ends(), 0U) << before;
  }
  EXPECT_GT(before, 10);
  EXPECT_EQ(contents(folder_.path()), all());
}

TEST_F(refused_reads, for_good_end_the_start_and_leave_the_file) {
  const auto newest = find_store_file(folder_.path(), store_file_numbers(folder_.path()).back());
  const auto bytes = fs::file_size(newest);
  {
    const failing_reads refused(0, very_long);
    EXPECT_THROW(store_writer({folder_.path()}), std::runtime_error);
  }
  EXPECT_EQ(fs::file_size(newest), bytes);
  EXPECT_EQ(store_writer({folder_.path()}).last_stored(session), last);
}

/// What a failed flush takes back is still behind the last block: the file gets no block any more.
TEST(refused_cuts, are_followed_by_another_file) {
  const scratch_folder folder;
  disk_works = true;
  store_writer store(on_doubtful_disk(folder.path()));
  ASSERT_FALSE(append(store, block_of(1)));
  ASSERT_FALSE(store.commit());
  ASSERT_FALSE(append(store, block_of(2)));
  disk_works = false;
  cuts_refused = 1;
  EXPECT_EQ(store.commit(), std::errc::io_error);
  EXPECT_EQ(cuts_refused, 0);
  disk_works = true;
  ASSERT_FALSE(append(store, block_of(2)));
  ASSERT_FALSE(store.commit());
  EXPECT_EQ(store.last_stored(session), 2U);
  EXPECT_TRUE(fs::exists(folder.path() + "/blocks-000002.kl3"));
}

} // namespace
} // namespace l3
