// SPDX-License-Identifier: Apache-2.0
// A disk that refuses what it holds, for a moment or for good: nothing is taken for damaged or lost
// that was only not given.
#include <stdexcept>

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

time_point later{}; ///< no pause is waited for

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
    EXPECT_TRUE(store.lost().empty()) << before;
    EXPECT_EQ(store.damaged(), 0U) << before;
    EXPECT_EQ(store.torn_tails(), 0U) << before;
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

TEST_F(refused_reads, for_a_moment_while_a_file_is_written_anew_cost_nothing) {
  for (int before = 0; before < 6; ++before) {
    const scratch_folder outside;
    const fs::path folder = fs::path(outside.path()) / "store";
    fs::create_directory(folder);
    store_settings settings{folder};
    settings.now = [] { return later += std::chrono::minutes(1); };
    store_writer store(settings);
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_FALSE(append(store, block_of(i)));
    ASSERT_FALSE(store.commit());
    fs::remove(folder / "blocks-000001.kl3");
    int looks = 0;
    {
      const failing_reads refused(before, moment);
      while (store.look() && looks < 10) ++looks;
    }
    EXPECT_LT(looks, 10) << before;
    EXPECT_TRUE(store.lost().empty()) << before;
    EXPECT_EQ(contents(folder).size(), 3U) << before;
  }
}

} // namespace
} // namespace l3
