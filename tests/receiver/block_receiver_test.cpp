// SPDX-License-Identifier: Apache-2.0
// A receiver against a daemon that the test plays.
#include "receiver/block_receiver.hpp"

#include <gtest/gtest.h>

#include "tests/transport/outbox/failing_disk.hpp"
#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/link/link_message.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

bytes block_of(std::uint64_t session, std::uint64_t sequence) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(sequence)};
  recipe.fragments = 1;
  return make_block({make_event(recipe, random).packed}, session, sequence);
}

TEST(block_receiver, takes_blocks_in_order_only) {
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 9, 1, block_of(9, 1));
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 9, 3, block_of(9, 3)); // a gap
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 9, 1, block_of(9, 1)); // a repeat
  near.expect(link_message::acknowledgement, 1);
  auto corrupt = block_of(9, 2);
  corrupt.back() ^= std::byte{1};
  near.send(link_message::block, 9, 2, corrupt);
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 9, 2, block_of(9, 7)); // not what was announced
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 9, 2, {});
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 9, 2, block_of(9, 2));
  near.expect(link_message::acknowledgement, 2);
  near.hello(9, 1);
  near.expect(link_message::welcome, 2);
  EXPECT_EQ(far.counters().duplicates.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  EXPECT_EQ(far.counters().damaged.sum(), 3U);
  EXPECT_EQ(far.counters().stored_blocks.get(), 2U);
  far.kill();
  store_reader reader(folder.path());
  EXPECT_EQ(reader.next()->header.sequence, 1U);
  EXPECT_EQ(reader.next()->header.sequence, 2U);
  EXPECT_FALSE(reader.next());
}

TEST(block_receiver, counts_what_it_drops) {
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.send(link_message::block, 9, 1, block_of(9, 1)); // no hello yet
  near.expect(link_message::refusal, 0);
  near.send(link_message::heartbeat, 9, 0);
  near.expect(link_message::refusal, 0);
  near.hello(9, 1);
  near.expect(link_message::welcome, 0);
  // Garbage of every kind, none of it answered.
  near.send_raw({bytes(3)});
  near.send_raw({bytes(32), bytes(32)});
  near.send_raw({bytes(32), bytes(1), bytes(1), bytes(1)});
  auto wrong = make_link_header(link_message::block, 9, 1);
  wrong.magic[0] = 'k';
  near.send_raw({played_daemon::header_bytes(wrong), block_of(9, 1)});
  wrong = make_link_header(link_message::block, 9, 1);
  wrong.credit = 5; // without its checksum
  near.send_raw({played_daemon::header_bytes(wrong), block_of(9, 1)});
  near.send(link_message::welcome, 9, 1); // a receiver's word
  near.send(link_message::hello, 0, 1, bytes(8));
  near.send(link_message::hello, 9, 1, bytes(7));
  near.send(link_message::heartbeat, 9, 0);
  near.expect(link_message::acknowledgement, 0);
  auto corrupt = block_of(9, 1);
  corrupt[0] = std::byte{0};
  near.send(link_message::block, 9, 1, corrupt);
  near.expect(link_message::acknowledgement, 0);
  near.send(link_message::block, 9, 2, block_of(9, 2));
  near.expect(link_message::acknowledgement, 0);
  EXPECT_EQ(far.counters().garbage.get(), 8U);
  EXPECT_EQ(far.counters().strangers.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  EXPECT_EQ(far.counters().damaged[block_fault::magic], 1U);
  EXPECT_EQ(far.counters().stored_blocks.get(), 0U);
}

TEST(block_receiver, serves_several_daemons) {
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon one(far.endpoint());
  played_daemon two(far.endpoint());
  one.hello(1, 1);
  two.hello(2, 5); // blocks 1 … 4 are stored elsewhere
  one.expect(link_message::welcome, 0);
  two.expect(link_message::welcome, 0);
  two.send(link_message::block, 2, 5, block_of(2, 5));
  one.send(link_message::block, 1, 1, block_of(1, 1));
  two.expect(link_message::acknowledgement, 5);
  one.expect(link_message::acknowledgement, 1);
}

TEST(block_receiver, does_not_count_what_the_disk_did_not_confirm) {
  scratch_folder folder;
  disk_works = false;
  store_writer store(on_doubtful_disk(folder.path()));
  receive_settings here;
  here.bind = "tcp://127.0.0.1:*";
  std::vector<std::string> reports;
  block_receiver far(here, store, [&](std::string_view text) { reports.emplace_back(text); });
  played_daemon near(far.endpoint());
  const auto take_one = [&] {
    const auto before = far.counters().messages.get();
    while (far.counters().messages == before) (void)far.step(5ms);
  };
  near.hello(9, 1);
  take_one();
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 9, 1, block_of(9, 1));
  take_one();
  near.expect(link_message::acknowledgement, 0);
  near.expect(link_message::refusal, 0);
  EXPECT_EQ(far.counters().stored_blocks.get(), 0U);
  EXPECT_EQ(far.counters().stored_events.get(), 0U);
  EXPECT_EQ(far.counters().store_errors.get(), 1U);
  ASSERT_EQ(reports.size(), 1U);

  disk_works = true;
  EXPECT_TRUE(eventually([&] { // it tries again after a second
    near.send(link_message::block, 9, 1, block_of(9, 1));
    take_one();
    return far.counters().stored_blocks != 0;
  }));
  EXPECT_EQ(far.counters().stored_blocks.get(), 1U);
  EXPECT_EQ(far.counters().stored_events.get(), 1U);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports.back(), "the store can be written again");
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
  receive_settings here;
  here.bind = "tcp://127.0.0.1:*";
  here.longest_failure = 500ms; // less than there is between two tries
  block_receiver far(here, store, nullptr);
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  const auto fails_once_more = [&](int error) {
    disk_error = error;
    const std::uint64_t before = far.counters().store_errors;
    return eventually([&] {
      near.send(link_message::block, 9, 1, block_of(9, 1));
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
    receive_settings here;
    here.bind = "tcp://127.0.0.1:*";
    block_receiver far(here, store, nullptr);
    played_daemon near(far.endpoint());
    near.hello(9, 1);
    while (far.counters().messages == 0) (void)far.step(5ms);
    near.expect(link_message::welcome, 0);
    near.send(link_message::block, 9, 1, block_of(9, 1));
    near.hello(9, 1);
    while (far.counters().messages == 1) (void)far.step(5ms);
    if (far.counters().messages != 3) return false;
    near.expect(link_message::welcome, 0);
    return true;
  }));
}

TEST(block_receiver, asks_for_another_hello_if_blocks_begin_before_the_last) {
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(9, 2); // an older one, that was read late
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 9, 1, block_of(9, 1));
  near.expect(link_message::refusal, 0);
  near.expect(link_message::acknowledgement, 0);
  near.hello(9, 1);
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 9, 1, block_of(9, 1));
  near.expect(link_message::acknowledgement, 1);
}

packed_and_original event_of(std::uint32_t number) {
  std::mt19937 random(number);
  event_recipe recipe;
  recipe.key = {1, number};
  recipe.fragments = 1;
  return make_event(recipe, random);
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

TEST(block_receiver, leaves_out_events_that_another_session_has_stored) {
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 9, 1, make_block({event_of(1).packed, event_of(2).packed}, 9, 1));
  near.expect(link_message::acknowledgement, 1);
  far.kill(); // what it remembers, it has from the store now
  far.start();
  near.hello(10, 1);
  near.expect(link_message::welcome, 0);
  near.send(link_message::block, 10, 1,
            make_block({event_of(3).packed, event_of(2).packed, event_of(4).packed}, 10, 1));
  near.expect(link_message::acknowledgement, 1);
  near.send(link_message::block, 10, 2, make_block({event_of(1).packed}, 10, 2));
  near.expect(link_message::acknowledgement, 2);
  near.send(link_message::block, 10, 3, make_block({event_of(3).packed}, 10, 3)); // of its own
  near.expect(link_message::acknowledgement, 3);
  EXPECT_EQ(contents_of(folder.path()),
            (std::vector<std::string>{"9:1:2:0", "10:1:2:1", "10:2:0:1", "10:3:1:0"}));
  EXPECT_EQ(far.counters().repeated_events.get(), 2U);
}

TEST(block_receiver, ends_when_a_file_that_it_writes_is_removed) {
  scratch_folder folder;
  store_writer store({folder.path()});
  receive_settings here;
  here.bind = "tcp://127.0.0.1:*";
  block_receiver far(here, store, nullptr);
  played_daemon near(far.endpoint());
  const auto take_one = [&] {
    const auto before = far.counters().messages.get();
    while (far.counters().messages == before) (void)far.step(5ms);
  };
  near.hello(9, 1);
  take_one();
  near.send(link_message::block, 9, 1, block_of(9, 1));
  take_one();
  std::filesystem::remove(folder.path() + "/blocks-000001.kl3");
  near.send(link_message::block, 9, 2, block_of(9, 2));
  EXPECT_THROW(take_one(), std::runtime_error);
  EXPECT_EQ(far.counters().stored_blocks.get(), 1U);
}

/// Events of one key, as small as the format has them. Each has a mark of its own, or all have one.
std::vector<bytes> events_of_one_key(std::uint32_t count, bool all_alike) {
  packed_event e;
  e.bytes = sizeof e;
  e.spill = 1;
  e.number = 1;
  std::vector<bytes> all(count, bytes(sizeof e));
  for (auto& b : all) {
    store(b.data(), e);
    if (!all_alike) ++e.reference_time;
  }
  return all;
}

// A receiver that compares each with all others gives no answer while the test waits.
TEST(block_receiver, takes_a_block_with_very_many_events_of_one_key) {
  constexpr std::uint32_t many = mebibytes(4).bytes / sizeof(packed_event);
  scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  const auto take = [&](std::uint64_t session, bool all_alike) {
    near.hello(session, 1);
    near.expect(link_message::welcome, 0);
    near.send(link_message::block, session, 1,
              make_block(events_of_one_key(many, all_alike), session, 1));
    near.expect(link_message::acknowledgement, 1);
  };
  take(9, true);
  EXPECT_EQ(far.counters().stored_events.get(), many);
  take(10, true);
  EXPECT_EQ(far.counters().repeated_events.get(), many);
  take(11, false);
  EXPECT_EQ(far.counters().repeated_events.get(), many + 1) << "the first is that of the others";
  EXPECT_EQ(far.counters().stored_events.get(), 2 * many - 1);
}

/// As large as a daemon makes them: half of what its receiver takes.
bytes largest_block(std::uint64_t session, std::uint64_t sequence, const receive_settings& s) {
  packed_event e;
  e.bytes = static_cast<std::uint32_t>(s.largest_block.bytes / 2);
  e.spill = 1;
  e.number = static_cast<std::uint32_t>(sequence);
  bytes packed(e.bytes);
  store(packed.data(), e);
  return make_block({packed}, session, sequence);
}

TEST(block_receiver, stays_connected_to_daemons_while_it_stands_still_and_their_credit_is_used_up) {
  scratch_folder folder;
  store_writer store({folder.path()});
  receive_settings here;
  here.bind = "tcp://127.0.0.1:*";
  here.largest_block = kibibytes(128);
  block_receiver far(here, store, nullptr);
  constexpr std::uint64_t daemons = 2;
  std::vector<std::unique_ptr<played_daemon>> near;
  for (std::uint64_t session = 1; session <= daemons; ++session) {
    near.push_back(std::make_unique<played_daemon>(far.endpoint()));
    near.back()->hello(session, 1);
  }
  while (far.counters().messages < daemons) (void)far.step(5ms);
  constexpr std::uint64_t credit = 4; // what the receiver gives before it has seen a block
  for (auto& daemon : near) daemon->expect(link_message::welcome, 0, credit);
  for (int again = 0; again < 2; ++again) // after silence
    for (std::uint64_t n = 1; n <= credit; ++n)
      for (std::uint64_t session = 1; session <= daemons; ++session)
        near[session - 1]->send(link_message::block, session, n, largest_block(session, n, here));
  // So that as much has come as can. If this is too short, the test sees less, and does not fail.
  std::this_thread::sleep_for(300ms);
  const std::uint64_t all = daemons * credit;
  ASSERT_TRUE(eventually([&] {
    (void)far.step(1ms);
    return far.counters().stored_blocks == all;
  })) << far.counters().stored_blocks;
  EXPECT_EQ(far.counters().connections.accepted.get(), daemons);
}

TEST(block_receiver, gives_more_credit_for_short_blocks) {
  scratch_folder folder;
  receiving_end far(folder.path(), 64);
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  near.expect(link_message::welcome, 0, 4);
  near.send(link_message::block, 9, 1, block_of(9, 1));
  near.expect(link_message::acknowledgement, 1, 64);
}

TEST(block_receiver, says_that_its_address_is_taken) {
  scratch_folder folder;
  scratch_folder other;
  receiving_end far(folder.path());
  receive_settings settings;
  settings.bind = far.endpoint();
  store_writer store({other.path()});
  try {
    const block_receiver second(settings, store, nullptr);
    FAIL() << "bound twice";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot listen on " + settings.bind), std::string::npos);
  }
}

} // namespace
} // namespace l3
