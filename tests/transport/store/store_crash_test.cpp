// SPDX-License-Identifier: Apache-2.0
// What a start of the writer makes of files that a crash or a bad disk has left.
#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/transport/store/store_files.hpp"
#include "transport/store/stored_sessions.hpp"

namespace l3 {
namespace {

using namespace test;

TEST(store, loses_no_block_to_a_damaged_head) {
  for (const std::size_t at : {0U, 8U}) {
    scratch_folder folder;
    fill_store(folder.path(), 1);
    edit_file(find_store_file(folder.path(), 1), [&](bytes& file) { file[at] ^= std::byte{0x10}; });
    std::uint64_t damaged = 0;
    EXPECT_EQ(contents(folder.path(), &damaged), (sequences{{session, 1}}));
    EXPECT_EQ(damaged, at == 0 ? 1U : 0U) << "another number is named, and is no damage";
    EXPECT_EQ(store_writer({folder.path()}).last_stored(session), 1U);
  }
}

TEST(store, ends_the_reading_of_its_files_when_it_is_told) {
  const scratch_folder folder;
  fill_store(folder.path(), 20);
  const auto before = read_file(find_store_file(folder.path(), 1));
  store_settings settings{folder.path()};
  int asked = 0;
  settings.stop = [&] { return ++asked > 3; };
  EXPECT_THROW(store_writer{settings}, scan_stopped);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(read_file(find_store_file(folder.path(), 1)), before);
}

/// The definition: what is surely stored, and what else is there.
struct plainly {
  std::uint64_t sure = 0;
  std::set<std::uint64_t> there;

  [[nodiscard]] std::uint64_t last(std::uint64_t first) const {
    std::uint64_t last = sure;
    for (const auto n : there) {
      if (n <= std::max(last + 1, first)) last = std::max(last, n);
    }
    return last;
  }
};

TEST(stored_numbers, are_what_their_definition_says) {
  constexpr int rounds = 300;
  constexpr std::uint64_t most = 20;
  std::mt19937 random(1);
  const auto any = [&](std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
  };
  for (int round = 0; round < rounds; ++round) {
    stored_numbers numbers;
    plainly expected;
    for (std::uint64_t step = 0; step < most; ++step) {
      const std::uint64_t n = any(most);
      if (any(4) == 0) {
        numbers.add(n);
        expected.sure = std::max(expected.sure, n);
      } else {
        numbers.add_behind_damage(n);
        expected.there.insert(n);
      }
      for (std::uint64_t first = 0; first <= most + 1; ++first)
        ASSERT_EQ(numbers.last(first), expected.last(first)) << round << ' ' << step;
    }
  }
}

TEST(store, counts_nothing_as_stored_behind_a_block_that_is_missing) {
  for (const bool header : {true, false}) {
    scratch_folder folder;
    write_damaged_file(folder.path(), 6, {2, 5}, header);
    for (std::uint64_t start = 1; start <= 3; ++start) {
      // What is missing stays so, also when the file is not the newest any more.
      store_writer store({folder.path()});
      EXPECT_EQ(store.last_stored(session), 1U) << header << start;
      EXPECT_EQ(store.last_stored(session, 2), 1U) << "the daemon has it";
      EXPECT_EQ(store.last_stored(session, 3), 4U) << "it was stored, and the daemon let it go";
      EXPECT_EQ(store.last_stored(session, 5), 4U);
      EXPECT_EQ(store.last_stored(session, 6), 6U);
      EXPECT_EQ(store.last_stored(session, 9), 6U);
      EXPECT_EQ(store.sessions().at(session).blocks, 4U) << "1, 3, 4, and 6";
      ASSERT_FALSE(append(store, block_of(start, 77)));
    }
    {
      store_writer store({folder.path()});
      ASSERT_FALSE(append(store, block_of(2)));
      EXPECT_EQ(store.last_stored(session), 4U) << "3 and 4 are there";
      ASSERT_FALSE(append(store, block_of(5)));
      EXPECT_EQ(store.last_stored(session), 6U);
    }
    EXPECT_EQ(store_writer({folder.path()}).last_stored(session), 6U);
    std::vector<std::uint64_t> all;
    for (const auto& [of, sequence] : contents(folder.path()))
      if (of == session) all.push_back(sequence);
    std::ranges::sort(all);
    EXPECT_EQ(all, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6})) << "each once";
  }
}

TEST(store, counts_blocks_behind_damage_that_has_taken_none_of_their_session) {
  scratch_folder folder;
  write_damaged_file(folder.path(), 2, {2}, true);
  edit_file(find_store_file(folder.path(), 1), [](bytes& file) {
    for (const std::uint64_t i : {1, 2}) std::ranges::copy(block_of(i, 77), back_inserter(file));
  });
  const store_writer store({folder.path()});
  EXPECT_EQ(store.last_stored(session), 1U);
  EXPECT_EQ(store.last_stored(77), 2U);
}

TEST(store, forgets_what_was_missing_when_a_later_file_shows_that_it_was_not) {
  scratch_folder folder;
  write_damaged_file(folder.path(), 4, {2}, false);
  {
    store_writer store({folder.path()});
    ASSERT_EQ(store.last_stored(session, 5), 4U); // a daemon that was told so
    ASSERT_FALSE(append(store, block_of(5)));
  }
  EXPECT_EQ(store_writer({folder.path()}).last_stored(session), 5U);
}

TEST(store, keeps_what_it_found_missing_if_a_commit_fails) {
  scratch_folder folder;
  write_damaged_file(folder.path(), 3, {2}, false);
  disk_works = true;
  store_writer store(on_doubtful_disk(folder.path()));
  disk_works = false;
  ASSERT_FALSE(append(store, block_of(2)));
  EXPECT_EQ(store.last_stored(session), 3U);
  EXPECT_EQ(store.commit(), std::errc::io_error);
  EXPECT_EQ(store.last_stored(session), 1U);
  disk_works = true;
  ASSERT_FALSE(append(store, block_of(2)));
  EXPECT_FALSE(store.commit());
  EXPECT_EQ(store.last_stored(session), 3U);
}

TEST(store, calls_nothing_stored_at_its_start_that_the_disk_did_not_confirm) {
  scratch_folder folder;
  fill_store(folder.path(), 1);
  static int flushes;
  static bool disk_works;
  store_settings settings{folder.path()};
  settings.sync = true;
  settings.flush = [](int) {
    ++flushes;
    errno = EIO;
    return disk_works ? 0 : -1;
  };
  disk_works = false;
  EXPECT_THROW(store_writer{settings}, std::runtime_error);
  disk_works = true;
  flushes = 0;
  EXPECT_EQ(store_writer(settings).last_stored(session), 1U);
  EXPECT_EQ(flushes, 1);
}

} // namespace
} // namespace l3
