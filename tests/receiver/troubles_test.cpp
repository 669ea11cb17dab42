// SPDX-License-Identifier: Apache-2.0
// What the table of a receiver's troubles says of two snapshots.
#include "receiver/troubles.hpp"

#include <gtest/gtest.h>

#include "tests/receiver/sample_snapshot.hpp"

namespace l3 {
namespace {

class a_receiver_in_trouble : public testing::Test {
protected:
  receive_snapshot before_ = sample_receive_snapshot();
  receive_snapshot now_ = sample_receive_snapshot();

  /// The only trouble that is there.
  const trouble& only(std::string_view name) {
    find_troubles(now_, before_);
    EXPECT_EQ(now_.troubles.now.size(), 1U);
    if (now_.troubles.now.empty()) return none_;
    EXPECT_EQ(now_.troubles.now[0].name, name);
    return now_.troubles.now[0];
  }
  void expect_none() {
    find_troubles(now_, before_);
    EXPECT_TRUE(now_.troubles.now.empty()) << now_.troubles.now[0].text;
  }
  static void expect_in(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), text.npos) << text;
  }

private:
  trouble none_;
};

TEST_F(a_receiver_in_trouble, with_a_disk_that_fills_up_becomes_urgent) {
  expect_none();
  now_.disk->seconds_left = 3599;
  EXPECT_EQ(only("disk_low").how_bad, severity::warning);
  EXPECT_EQ(only("disk_low").loses, losing::soon);
  now_.disk->seconds_left = 180;
  EXPECT_EQ(only("disk_low").how_bad, severity::critical);
  EXPECT_EQ(only("disk_low").seconds_left, 180);
  expect_in(only("disk_low").text, "40.0 GB free of 100.0: it is full in 3 min");
  now_.disk->seconds_left.reset();
  expect_none();
  now_.disk->free = 4'900'000'000;
  EXPECT_EQ(only("disk_low").loses, losing::no) << "nobody writes now";
  now_.disk.reset();
  expect_none();
}

TEST_F(a_receiver_in_trouble, that_stores_nothing_is_critical_and_comes_before_its_disk) {
  now_.store_error = "No space left on device";
  now_.disk->seconds_left = 0;
  find_troubles(now_, before_);
  ASSERT_EQ(now_.troubles.now.size(), 2U);
  EXPECT_EQ(now_.troubles.now[0].name, "store_fails");
  EXPECT_EQ(now_.troubles.now[0].how_bad, severity::critical);
}

TEST_F(a_receiver_in_trouble, whose_blocks_are_damaged_says_how_many) {
  now_.counters.blocks.add(9);
  now_.counters.damaged.add(block_fault::payload_checksum);
  now_.counters.damaged.add(block_fault::length);
  expect_in(only("blocks_damaged").text,
            "2 of 9 blocks just now arrived damaged (length, payload_");
  EXPECT_EQ(only("blocks_damaged").how_bad, severity::warning);
  before_.counters.blocks.add(7);
  EXPECT_EQ(only("blocks_damaged").how_bad, severity::critical) << "no whole block arrives";
  EXPECT_EQ(only("blocks_damaged").loses, losing::soon);
}

TEST_F(a_receiver_in_trouble, that_refuses_daemons_says_why) {
  now_.counters.connections.unknown_key.add(2);
  expect_in(only("blocks_refused").text, "refused just now: 2 connections with an unknown key");
  expect_in(only("blocks_refused").action, "add its public key to the allow-list");
  before_ = now_;
  expect_none();
  now_.counters.connections.mechanism.add(1);
  expect_in(only("blocks_refused").action, "give the daemon (forward.secret_key) and the receiver");
  before_ = now_;
  now_.counters.damaged.add(block_fault::version);
  now_.counters.garbage.add(1);
  expect_in(only("blocks_refused").text, "2 messages of another program or version");
}

TEST_F(a_receiver_in_trouble, whose_disk_is_slow_says_how_slow) {
  now_.counters.slow_milliseconds.add(3500);
  expect_in(only("disk_slow").text, "took 3.5 s for a write");
}

TEST_F(a_receiver_in_trouble, names_the_nodes) {
  now_.missing = {{1, 77, event_key{2, 9}, event_key{4, 2}, 300, 9.5}};
  expect_none();
  now_.missing.push_back({3, 77, event_key{5, 17}, std::nullopt, 42, std::nullopt});
  expect_in(only("node_missing").text, "missing: node 3 of run 77 after event 17 of spill 5");
  EXPECT_EQ(only("node_missing").loses, losing::now);
  now_.missing.clear();
  now_.same_nodes = {{5, "address 10.0.0.1, address 10.0.0.2"}};
  expect_in(only("same_node").text, "claim to be node 5 (address 10.0.0.1, address 10.0.0.2)");
}

} // namespace
} // namespace l3
