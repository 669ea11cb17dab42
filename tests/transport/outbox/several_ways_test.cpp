// SPDX-License-Identifier: Apache-2.0
// A daemon with several connections to its receiver: the blocks of a lane go over all of them, are
// stored in order, and one whose cable is pulled costs nothing but its share.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tests/transport/outbox/cable.hpp"
#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "transport/store/store_reader.hpp"

namespace l3::test {
namespace {

/// Every event 1 … last once, in blocks 1, 2, ….
void expect_in_order(const std::string& folder, std::uint32_t last) {
  store_reader reader(folder);
  std::vector<std::byte> payload;
  std::uint32_t events = 0;
  std::uint64_t sequence = 0;
  while (const auto block = reader.next()) {
    ASSERT_TRUE(reader.read_payload(*block, payload));
    ASSERT_EQ(block->header.sequence, ++sequence);
    event_walk walk(payload, block->header);
    while (const auto e = walk.next()) ASSERT_EQ(load<packed_event>(e->data()).number, ++events);
  }
  EXPECT_EQ(events, last);
}

class several_ways : public testing::Test {
protected:
  scratch_folder folder_;
  receiving_end far_{folder_.path(), 64};
  cable first_{far_.endpoint()};
  cable second_{far_.endpoint()};
  forward_settings settings_ = [this] {
    forward_settings s = link_to(far_.endpoint(), 2s);
    s.from = {{"127.0.0.2", first_.endpoint()}, {"127.0.0.3", second_.endpoint()}};
    return s;
  }();
};

TEST_F(several_ways, from_addresses_of_their_own_to_one_receiver) {
  settings_.from = {{"127.0.0.2", {}}, {"127.0.0.3", {}}, {"127.0.0.4", {}}};
  {
    sending_end near(settings_);
    EXPECT_TRUE(eventually([&] { return far_.counters().connections.let_in == 3; }));
    near.append(1, 2000);
    EXPECT_TRUE(near.all_stored());
    EXPECT_EQ(near.sender.counters().reconnects.get(), 0U);
  }
  EXPECT_TRUE(eventually([&] { return far_.counters().goodbyes == 1; }));
  far_.kill();
  expect_in_order(folder_.path(), 2000);
}

TEST_F(several_ways, of_which_one_begins_at_an_address_of_another_machine) {
  settings_.from = {{"203.0.113.1", {}}, {"127.0.0.2", {}}};
  sending_end near(settings_);
  near.append(1, 200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_TRUE(eventually([&] {
    return near.reported("no network card of this machine has the address 203.0.113.1");
  }));
  EXPECT_FALSE(near.reported("127.0.0.2"));
}

TEST_F(several_ways, share_the_blocks_of_a_lane) {
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] { return far_.counters().connections.let_in == 2; }));
  near.append(1, 100);
  EXPECT_TRUE(near.all_stored()); // both are welcome by now
  const auto before = std::pair(first_.bytes(), second_.bytes());
  near.append(101, 3000);
  EXPECT_TRUE(near.all_stored());
  const auto over_first = static_cast<double>(first_.bytes() - before.first);
  const auto over_second = static_cast<double>(second_.bytes() - before.second);
  EXPECT_GT(over_first / (over_first + over_second), 0.1);
  EXPECT_GT(over_second / (over_first + over_second), 0.1);
  far_.kill();
  expect_in_order(folder_.path(), 3000);
}

TEST_F(several_ways, of_which_one_is_pulled_go_on_without_it_and_with_it_again) {
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] { return far_.counters().connections.let_in == 2; }));
  near.append(1, 200);
  EXPECT_TRUE(near.all_stored());
  second_.pull();
  const auto begun = steady_clock::now();
  near.append(201, 1200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_LT(steady_clock::now() - begun, 1900ms)
      << "before blocks go again for silence, and before ZeroMQ knows that it is dead";
  second_.pull(false);
  const auto before = second_.bytes();
  std::uint32_t last = 1200;
  EXPECT_TRUE(eventually([&] {
    near.append(last + 1, last + 20);
    last += 20;
    return near.all_stored() && second_.bytes() > before + (1 << 18);
  }));
  EXPECT_EQ(near.sender.counters().impossible.get(), 0U);
  EXPECT_LT(near.sender.counters().resent.get(), 100U);
}

TEST_F(several_ways, that_lead_to_two_receivers_have_one_as_long_as_it_is_there) {
  const scratch_folder other_folder;
  receiving_end other(other_folder.path(), 64);
  settings_.from = {{"127.0.0.2", far_.endpoint()}, {"127.0.0.3", other.endpoint()}};
  sending_end near(settings_);
  EXPECT_TRUE(eventually([&] {
    return far_.counters().connections.let_in == 1 && other.counters().connections.let_in == 1;
  }));
  near.append(1, 1000);
  EXPECT_TRUE(near.all_stored());
  const bool by_far = far_.counters().stored_events == 1000;
  EXPECT_EQ(far_.counters().stored_events + other.counters().stored_events, 1000U);
  EXPECT_TRUE(by_far || other.counters().stored_events == 1000) << "not some by each";
  receiving_end& lanes = by_far ? far_ : other;
  receiving_end& unused = by_far ? other : far_;
  EXPECT_TRUE(eventually([&] {
    return near.reported("the connection to " + unused.endpoint() + " from 127.0.0." +
                         (by_far ? "3" : "2") + " leads to another receiver than the one to " +
                         lanes.endpoint());
  }));
  lanes.kill();
  near.append(1001, 1200);
  EXPECT_TRUE(near.all_stored()) << "by the other";
  EXPECT_EQ(unused.counters().stored_events, 200U);
}

TEST_F(several_ways, keep_what_came_early_until_the_missing_block_has_come) {
  played_daemon one(far_.endpoint());
  played_daemon other(far_.endpoint());
  constexpr std::uint64_t session = 9;
  std::mt19937 random(1);
  std::vector<bytes> blocks;
  for (std::uint64_t n = 1; n <= 4; ++n) {
    event_recipe recipe;
    recipe.key = {1, static_cast<std::uint32_t>(n)};
    blocks.push_back(make_block({make_event(recipe, random).packed}, session, n));
  }
  one.hello(session, 1);
  one.expect(link_message::welcome, 0);
  other.hello(session, 1);
  other.expect(link_message::welcome, 0);
  other.send(link_message::block, session, 3, blocks[2]);
  other.expect(link_message::acknowledgement, 0);
  other.send(link_message::block, session, 2, blocks[1]);
  other.expect(link_message::acknowledgement, 0);
  one.send(link_message::block, session, 1, blocks[0]);
  one.expect(link_message::acknowledgement, 3);
  one.send(link_message::block, session, 4, blocks[3]);
  one.expect(link_message::acknowledgement, 4);
  EXPECT_EQ(far_.counters().early.get(), 2U);
  EXPECT_EQ(far_.counters().gaps.get(), 0U);
  far_.kill();
  expect_in_order(folder_.path(), 4);
}

} // namespace
} // namespace l3::test
