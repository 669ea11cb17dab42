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

/// What a system says that is out of something, or whose disk or network fails.
constexpr int errors[] = {EIO, ESTALE, EINTR, ENOMEM, ENFILE, EOVERFLOW};
/// A look is tried three times, or once: it fails, and the one behind it.
constexpr int long_moment = 4;

/// The news of a store that no other program has touched.
void expect_no_hand(store_writer& store, const std::string& when) {
  for (const std::string& text : store.take_news())
    for (const char* hand :
         {"removed", "something else", "another program has", "no other program"})
      EXPECT_EQ(text.find(hand), text.npos) << when << ": " << text;
  EXPECT_TRUE(store.lost().empty()) << when;
}

/// Until a life went by in which not all were refused.
TEST(refused_looks, are_no_hands_deed_whenever_they_come) {
  for (const int error : errors) {
    int before = 0;
    for (bool done = true; done; ++before) {
      const scratch_folder folder;
      const std::string when = std::to_string(error) + " after " + std::to_string(before);
      store_settings settings{folder.path()};
      settings.file_bytes = 3 * block_of(1).size();
      settings.now = [] { return later += std::chrono::minutes(1); };
      settings.has_read_enough = [](time_point) { return true; };
      {
        store_writer store(settings);
        const failing_looks refused(before, long_moment, error);
        for (std::uint64_t i = 1; i <= last; ++i)
          until_it_works([&] {
            const auto wrong =
                store.last_stored(session) < i ? append(store, block_of(i)) : std::error_code();
            return wrong ? wrong : store.commit();
          });
        until_it_works([&] { return store.look(); });
        until_it_works([&] { return store.complete_all_files(); });
        for (int looks = 0; looks < 40; ++looks) until_it_works([&] { return store.look(); });
        done = failing_looks::all_done();
        expect_no_hand(store, when);
        EXPECT_EQ(store.not_compared(), 0U) << when;
      }
      EXPECT_EQ(contents(folder.path()).size(), last) << when;
      store_writer again(settings);
      EXPECT_EQ(again.last_stored(session), last) << when;
      expect_no_hand(again, when);
    }
    EXPECT_GT(before, 30);
  }
}

TEST_F(refused_reads, of_the_manifest_are_told) {
  // The first look of a start is at the folder, two are at the manifest.
  for (int before = 1; before < 3; ++before) {
    const failing_looks refused(before, long_moment, EIO);
    store_writer store({folder_.path()});
    const auto news = store.take_news();
    ASSERT_EQ(news.size(), 1U) << before;
    EXPECT_NE(news[0].find("manifest.kl3m: Input/output"), std::string::npos) << news[0];
  }
}

/// What a failed flush takes back is still behind the last block.
TEST(refused_cuts, are_no_hands_deed) {
  const scratch_folder folder;
  store_settings settings = on_doubtful_disk(folder.path());
  settings.now = [] { return later += std::chrono::minutes(1); };
  store_writer store(settings);
  ASSERT_FALSE(append(store, block_of(1)));
  ASSERT_FALSE(store.commit());
  ASSERT_FALSE(append(store, block_of(2)));
  disk_works = false;
  cuts_refused = 2;
  EXPECT_EQ(store.commit(), std::errc::io_error);
  EXPECT_EQ(cuts_refused, 1);
  disk_works = true;
  until_it_works([&] { return store.look(); });
  EXPECT_EQ(cuts_refused, 0);
  ASSERT_FALSE(append(store, block_of(2)));
  ASSERT_FALSE(store.commit());
  std::string news;
  for (const std::string& text : store.take_news()) news += text + "\n";
  EXPECT_NE(news.find("the disk did not let it be cut to its last whole block"), news.npos) << news;
  EXPECT_EQ(news.find("program"), news.npos) << news;
  EXPECT_EQ(contents(folder.path()), (sequences{{session, 1}, {session, 2}}));
}

} // namespace
} // namespace l3
