// SPDX-License-Identifier: Apache-2.0
// A receiver that starts on a store in which a power cut, or a bad disk, has left a block damaged
// and later ones whole, and what keeps a power cut from leaving worse.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tests/transport/store/store_files.hpp"

namespace l3 {
namespace {

using namespace test;

/// Blocks 1 … 4, of which the second has lost its end.
void write_damaged_store(const std::string& folder) {
  {
    store_writer store({folder});
    for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_FALSE(append(store, block_of(i)));
  }
  auto file = read_file(find_store_file(folder, 1));
  const std::size_t end = sizeof(store_file_header) + block_of(1).size() + block_of(2).size();
  file[end - 1] ^= std::byte{1};
  write_file(find_store_file(folder, 1), file);
}

TEST(damaged_store, gets_what_is_missing_and_nothing_twice) {
  scratch_folder folder;
  write_damaged_store(folder.path());
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(77, 1); // the damaged file is not the newest at the next start
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 77, 1, block_of(1, 77));
  near.expect(link_message::acknowledgement, 1);
  far.kill();
  far.start();
  near.hello(session, 1);
  near.expect(link_message::welcome, 1);
  near.send(link_message::block, session, 3, block_of(3));
  near.expect(link_message::acknowledgement, 1); // a gap
  near.send(link_message::block, session, 2, block_of(2));
  near.expect(link_message::acknowledgement, 4);
  near.send(link_message::block, session, 3, block_of(3));
  near.expect(link_message::acknowledgement, 4);
  near.send(link_message::block, session, 5, block_of(5));
  near.expect(link_message::acknowledgement, 5);
  EXPECT_EQ(far.counters().duplicates.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  far.kill();
  auto all = contents(folder.path());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(
      all,
      (sequences{{session, 1}, {session, 2}, {session, 3}, {session, 4}, {session, 5}, {77, 1}}));
}

TEST(damaged_store, counts_what_a_daemon_has_let_go) {
  scratch_folder folder;
  write_damaged_store(folder.path());
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(session, 4); // up to 3 everything was acknowledged
  near.expect(link_message::welcome, 4);
  near.send(link_message::block, session, 4, block_of(4));
  near.expect(link_message::acknowledgement, 4);
  near.send(link_message::block, session, 5, block_of(5));
  near.expect(link_message::acknowledgement, 5);
  EXPECT_EQ(far.counters().duplicates.get(), 1U);
  far.kill();
  EXPECT_EQ(contents(folder.path()),
            (sequences{{session, 1}, {session, 3}, {session, 4}, {session, 5}}));
}

TEST(damaged_store, takes_no_event_for_repeated_that_is_not_there) {
  scratch_folder folder;
  write_damaged_store(folder.path());
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(77, 1);
  near.expect(link_message::welcome, 0);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    near.send(link_message::block, 77, i, block_of(i, 77));
    near.expect(link_message::acknowledgement, i);
  }
  EXPECT_EQ(far.counters().repeated_events.get(), 3U);
  EXPECT_EQ(far.counters().stored_events.get(), 1U) << "that of the damaged block";
}

TEST(damaged_store, has_an_event_on_disk_before_the_block_from_which_it_is_left_out) {
  // Both blocks must be there for one step: as often as it takes.
  EXPECT_TRUE(eventually([] {
    scratch_folder folder;
    static int flushes;
    flushes = 0;
    store_settings settings{folder.path()};
    settings.sync = true;
    settings.flush = [](int) {
      ++flushes;
      return 0;
    };
    store_writer store(settings);
    receive_settings here;
    here.bind = "tcp://127.0.0.1:*";
    block_receiver far(here, store, nullptr);
    played_daemon near(far.endpoint());
    near.hello(session, 1);
    near.hello(77, 1);
    while (far.counters().messages < 2) (void)far.step(5ms);
    near.send(link_message::block, session, 1, block_of(1));
    near.send(link_message::block, 77, 1, block_of(1, 77));
    while (far.counters().messages < 3) (void)far.step(5ms);
    if (far.counters().messages != 4) return false;
    EXPECT_EQ(far.counters().repeated_events.get(), 1U);
    EXPECT_EQ(flushes, 2);
    return true;
  }));
}

} // namespace
} // namespace l3
