// SPDX-License-Identifier: Apache-2.0
// A receiver against a daemon that the test plays.
#include "receiver/block_receiver.hpp"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/link/link_message.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Lets a receiver without a thread take as many more messages.
void take_messages(block_receiver& far, std::uint64_t messages = 1) {
  const auto all = far.counters().messages.get() + messages;
  while (far.counters().messages < all) (void)far.step(5ms);
}

class a_receiver : public testing::Test {
protected:
  scratch_folder folder;
  receiving_end far{folder.path()};
  played_daemon near{far.endpoint()};
};

TEST_F(a_receiver, counts_what_it_drops) {
  near.send(link_message::block, session, 1, block_of(1)); // no hello yet
  near.expect(link_message::refusal, 0);
  near.send(link_message::heartbeat, session, 0);
  near.expect(link_message::refusal, 0);
  near.begin(session, 1, 0);
  // Garbage of every kind, none of it answered.
  near.send_raw({bytes(3)});
  near.send_raw({bytes(32), bytes(32)});
  near.send_raw({bytes(32), bytes(1), bytes(1), bytes(1)});
  auto wrong = make_link_header(link_message::block, session, 1);
  wrong.magic[0] = 'k';
  near.send_raw({played_daemon::header_bytes(wrong), block_of(1)});
  wrong = make_link_header(link_message::block, session, 1);
  wrong.credit = 5; // without its checksum
  near.send_raw({played_daemon::header_bytes(wrong), block_of(1)});
  near.send(link_message::welcome, session, 1); // a receiver's word
  near.send(link_message::hello, 0, 1, bytes(8));
  near.send(link_message::hello, session, 1, bytes(7));
  near.send(link_message::heartbeat, session, 0);
  near.expect(link_message::acknowledgement, 0);
  auto corrupt = block_of(1);
  corrupt[0] = std::byte{0};
  near.give(session, 1, corrupt, 0);
  near.give(session, 2, block_of(2), 0);
  EXPECT_EQ(far.counters().garbage.get(), 8U);
  EXPECT_EQ(far.counters().strangers.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  EXPECT_EQ(far.counters().damaged[block_fault::magic], 1U);
  EXPECT_EQ(far.counters().stored_blocks.get(), 0U);
}

TEST(block_receiver, does_not_count_what_the_disk_did_not_confirm) {
  scratch_folder folder;
  disk_works = false;
  store_writer store(on_doubtful_disk(folder.path()));
  block_receiver far(any_port(), store, nullptr);
  played_daemon near(far.endpoint());
  near.hello(session, 1);
  take_messages(far);
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, session, 1, block_of(1));
  take_messages(far);
  near.expect(link_message::acknowledgement, 0);
  near.expect(link_message::refusal, 0);
  EXPECT_EQ(far.counters().stored_blocks.get(), 0U);
  EXPECT_EQ(far.counters().stored_events.get(), 0U);
  EXPECT_EQ(far.counters().store_errors.get(), 1U);
  EXPECT_EQ(far.store_error(), std::errc::io_error);

  disk_works = true;
  EXPECT_TRUE(eventually([&] { // it tries again after a second
    near.send(link_message::block, session, 1, block_of(1));
    take_messages(far);
    return far.counters().stored_blocks != 0;
  }));
  EXPECT_EQ(far.counters().stored_blocks.get(), 1U);
  EXPECT_EQ(far.counters().stored_events.get(), 1U);
  EXPECT_FALSE(far.store_error());
}

TEST(block_receiver, counts_the_writes_for_which_its_disk_takes_long) {
  const scratch_folder folder;
  store_settings settings{folder.path()};
  settings.sync = true;
  settings.flush = [](int) {
    std::this_thread::sleep_for(1s);
    return 0;
  };
  store_writer store(settings);
  block_receiver far(any_port(), store, nullptr);
  played_daemon near(far.endpoint());
  near.hello(session, 1);
  take_messages(far);
  near.send(link_message::block, session, 1, block_of(1));
  take_messages(far);
  EXPECT_GE(far.counters().slow_milliseconds, 1000U);
}

TEST(block_receiver, ends_with_a_disk_that_fails_for_long_and_waits_for_a_full_one) {
  static int disk_error = 0;
  const scratch_folder folder;
  store_settings settings{folder.path()};
  settings.sync = true;
  settings.flush = [](int) {
    errno = disk_error;
    return -1;
  };
  store_writer store(settings);
  receive_settings here = any_port();
  here.longest_failure = 500ms; // less than there is between two tries
  block_receiver far(here, store, nullptr);
  played_daemon near(far.endpoint());
  near.hello(session, 1);
  const auto fails_once_more = [&](int error) {
    disk_error = error;
    const std::uint64_t before = far.counters().store_errors;
    return eventually([&] {
      near.send(link_message::block, session, 1, block_of(1));
      (void)far.step(5ms);
      return far.counters().store_errors != before;
    });
  };
  EXPECT_TRUE(fails_once_more(EIO));
  EXPECT_TRUE(fails_once_more(ENOSPC));
  EXPECT_TRUE(fails_once_more(EIO));
  try {
    (void)fails_once_more(EIO);
    FAIL() << "it goes on";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()),
              "the disk of " + folder.path() +
                  " has refused every block for a minute: Input/output error");
  }
}

TEST(block_receiver, welcomes_with_what_is_committed) {
  // Block and hello must be there for one step: as often as it takes.
  EXPECT_TRUE(eventually([] {
    scratch_folder folder;
    store_settings settings{folder.path()};
    settings.sync = true;
    settings.flush = [](int) {
      errno = EIO;
      return -1;
    };
    store_writer store(settings);
    block_receiver far(any_port(), store, nullptr);
    played_daemon near(far.endpoint());
    near.hello(session, 1);
    while (far.counters().messages == 0) (void)far.step(5ms);
    near.expect(link_message::welcome, 0);
    near.send(link_message::block, session, 1, block_of(1));
    near.hello(session, 1);
    while (far.counters().messages == 1) (void)far.step(5ms);
    if (far.counters().messages != 3) return false;
    near.expect(link_message::welcome, 0);
    return true;
  }));
}

TEST_F(a_receiver, asks_for_another_hello_if_blocks_begin_before_the_last) {
  near.begin(session, 2, 0); // an older one, that was read late
  near.send(link_message::block, session, 1, block_of(1));
  near.expect(link_message::refusal, 0);
  near.expect(link_message::acknowledgement, 0);
  near.begin(session, 1, 0);
  near.give(session, 1, block_of(1), 1);
}

bytes event_of(std::uint32_t number) {
  std::mt19937 random(number);
  event_recipe recipe;
  recipe.key = {1, number};
  recipe.fragments = 1;
  return make_event(recipe, random).packed;
}

/// What each block of the store holds, as session:sequence:events:left out.
std::vector<std::string> contents_of(const std::string& folder) {
  std::vector<std::string> found;
  store_reader reader(folder);
  std::vector<std::byte> payload;
  while (const auto block = reader.next()) {
    const block_header& h = block->header;
    EXPECT_TRUE(reader.read_payload(*block, payload));
    event_walk walk(payload, h);
    while (walk.next()) {
    }
    EXPECT_TRUE(walk.complete());
    found.push_back(std::to_string(h.session) + ":" + std::to_string(h.sequence) + ":" +
                    std::to_string(h.events) + ":" + std::to_string(h.repeated));
  }
  EXPECT_EQ(reader.damaged(), 0U);
  return found;
}

TEST_F(a_receiver, leaves_out_events_that_another_session_has_stored) {
  near.begin(session, 1, 0);
  near.give(session, 1, make_block({event_of(1), event_of(2)}, session, 1), 1);
  far.kill(); // what it remembers, it has from the store now
  far.start();
  near.begin(10, 1, 0);
  near.give(10, 1, make_block({event_of(3), event_of(2), event_of(4)}, 10, 1), 1);
  near.give(10, 2, make_block({event_of(1)}, 10, 2), 2);
  near.give(10, 3, make_block({event_of(3)}, 10, 3), 3); // of its own
  EXPECT_EQ(contents_of(folder.path()),
            (std::vector<std::string>{"42:1:2:0", "10:1:2:1", "10:2:0:1", "10:3:1:0"}));
  EXPECT_EQ(far.counters().repeated_events.get(), 2U);
}

TEST(block_receiver, ends_when_a_file_that_it_writes_is_removed) {
  scratch_folder folder;
  store_writer store({folder.path()});
  block_receiver far(any_port(), store, nullptr);
  played_daemon near(far.endpoint());
  near.hello(session, 1);
  take_messages(far);
  near.send(link_message::block, session, 1, block_of(1));
  take_messages(far);
  std::filesystem::remove(folder.path() + "/blocks-000001.kl3");
  near.send(link_message::block, session, 2, block_of(2));
  EXPECT_THROW(take_messages(far), std::runtime_error);
  EXPECT_EQ(far.counters().stored_blocks.get(), 1U);
}

TEST(block_receiver, gives_more_credit_for_short_blocks) {
  scratch_folder folder;
  receiving_end far(folder.path(), 64);
  played_daemon near(far.endpoint());
  near.hello(session, 1);
  near.expect(link_message::welcome, 0, 4);
  near.send(link_message::block, session, 1, block_of(1));
  near.expect(link_message::acknowledgement, 1, 64);
}

TEST_F(a_receiver, takes_a_session_over_several_connections_each_of_which_says_hello) {
  played_daemon second(far.endpoint());
  near.begin(session, 1, 0);
  second.send(link_message::block, session, 1, block_of(1));
  second.expect(link_message::refusal, 0);
  second.begin(session, 1, 0);
  second.give(session, 1, block_of(1), 1);
  near.give(session, 2, block_of(2), 2);
  second.give(session, 3, block_of(3), 3);
  // Beyond the most, the one that said hello first has to say it again.
  std::vector<std::unique_ptr<played_daemon>> more;
  for (std::size_t n = 0; n + 1 < link_peers::most_connections; ++n) {
    more.push_back(std::make_unique<played_daemon>(far.endpoint()));
    more.back()->hello(session, 1);
    more.back()->expect(link_message::welcome, 3);
  }
  near.send(link_message::block, session, 4, block_of(4));
  near.expect(link_message::refusal, 0);
  second.give(session, 4, block_of(4), 4);
  near.begin(session, 5, 4);
  near.give(session, 5, block_of(5), 5);
  far.kill();
  expect_stored(folder.path(), 5);
}

TEST_F(a_receiver, ends_a_session_by_a_goodbye_only_if_something_was_stored) {
  near.begin(session, 1, 0);
  near.send(link_message::goodbye, session, 0);
  near.begin(session, 1, 0);
  EXPECT_EQ(far.counters().goodbyes.get(), 0U);
  near.give(session, 1, block_of(1), 1);
  near.send(link_message::goodbye, session, 1);
  EXPECT_TRUE(eventually([&] { return far.counters().goodbyes == 1; }));
}

/// ZeroMQ ends the connection of a daemon that sends a longer one.
TEST_F(a_receiver, takes_a_frame_of_64_mib_and_none_that_is_longer) {
  const std::uint64_t most = (64 << 20) + sizeof(block_header);
  near.begin(session, 1, 0);
  near.give(session, 1, bytes(most), 0);
  EXPECT_EQ(far.counters().connections.accepted.get(), 1U);
  near.send(link_message::block, session, 1, bytes(most + 1));
  EXPECT_TRUE(eventually([&] { return far.counters().connections.accepted == 2; }));
}

// A receiver that starts on a store in which a power cut, or a bad disk, has left a block damaged
// and later ones whole, and what keeps a power cut from leaving worse.

/// Blocks 1 … 4, of which the second has lost its end.
class damaged_store : public testing::Test {
protected:
  scratch_folder folder;
  receiving_end far{(write_damaged_file(folder.path(), 4, {2}, false), folder.path())};
  played_daemon near{far.endpoint()};
};

TEST_F(damaged_store, gets_what_is_missing_and_nothing_twice) {
  near.begin(77, 1, 0); // the damaged file is not the newest at the next start
  near.give(77, 1, block_of(1, 77), 1);
  far.kill();
  far.start();
  near.begin(session, 1, 1);
  near.give(session, 3, block_of(3), 1); // a gap
  near.give(session, 2, block_of(2), 4);
  near.give(session, 3, block_of(3), 4);
  near.give(session, 5, block_of(5), 5);
  EXPECT_EQ(far.counters().duplicates.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  far.kill();
  auto all = contents(folder.path());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(
      all,
      (sequences{{session, 1}, {session, 2}, {session, 3}, {session, 4}, {session, 5}, {77, 1}}));
}

TEST_F(damaged_store, counts_what_a_daemon_has_let_go) {
  near.begin(session, 4, 4); // up to 3 everything was acknowledged
  near.give(session, 4, block_of(4), 4);
  near.give(session, 5, block_of(5), 5);
  EXPECT_EQ(far.counters().duplicates.get(), 1U);
  far.kill();
  EXPECT_EQ(contents(folder.path()),
            (sequences{{session, 1}, {session, 3}, {session, 4}, {session, 5}}));
}

TEST_F(damaged_store, takes_no_event_for_repeated_that_is_not_there) {
  near.begin(77, 1, 0);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    near.give(77, i, block_of(i, 77), i);
  }
  EXPECT_EQ(far.counters().repeated_events.get(), 3U);
  EXPECT_EQ(far.counters().stored_events.get(), 1U) << "that of the damaged block";
}

TEST(block_receiver, has_an_event_on_disk_before_the_block_from_which_it_is_left_out) {
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
    block_receiver far(any_port(), store, nullptr);
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

TEST(link_peers, are_1024_sessions_of_which_the_one_that_is_silent_longest_makes_way) {
  link_peers peers;
  for (std::uint64_t n = 0; n <= 1024; ++n)
    peers.greet(n, "address", time_point(1h) + std::chrono::microseconds(n));
  EXPECT_EQ(std::distance(peers.begin(), peers.end()), 1024);
  EXPECT_EQ(peers.find(0), nullptr);
  EXPECT_NE(peers.find(1), nullptr);
  EXPECT_NE(peers.find(1024), nullptr);
}

bool keep(early_blocks& blocks, std::uint64_t sequence, std::uint64_t missing,
          std::size_t bytes = 10) {
  zmq::message_t body(bytes);
  return blocks.keep(session, sequence, missing, body);
}

TEST(early_blocks, are_kept_64_behind_the_missing_one_and_no_farther) {
  early_blocks blocks(mebibytes(1));
  constexpr std::uint64_t missing = 1000;
  EXPECT_FALSE(keep(blocks, missing, missing));
  EXPECT_TRUE(keep(blocks, missing + 1, missing));
  EXPECT_TRUE(keep(blocks, missing + 64, missing));
  EXPECT_FALSE(keep(blocks, missing + 65, missing));
  EXPECT_FALSE(blocks.has(session, missing + 65));
  EXPECT_EQ(blocks.behind(session, missing), 1 | std::uint64_t{1} << 63);
}

TEST(early_blocks, have_as_many_bytes_as_they_may_and_none_beyond) {
  early_blocks blocks(byte_size{100});
  EXPECT_TRUE(keep(blocks, 2, 1, 60));
  EXPECT_FALSE(keep(blocks, 3, 1, 41));
  EXPECT_TRUE(keep(blocks, 3, 1, 40));
  EXPECT_FALSE(keep(blocks, 4, 1, 1));
  EXPECT_TRUE(blocks.take(session, 2));
  EXPECT_TRUE(keep(blocks, 4, 1, 60));
}

} // namespace
} // namespace l3
