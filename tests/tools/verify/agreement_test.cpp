// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <algorithm>
#include <string_view>

#include <gtest/gtest.h>

namespace l3 {
namespace {

/// The ledgers of a run in which 10 events of 3 fragments went all the way, and 2 fragments came
/// twice.
struct run {
  ledger replay, node, receiver;
  std::vector<event_index::session> stored{{5, 1, 10}};

  run() {
    replay.program = "replay";
    send(10);
    node.program = "koto-l3d";
    node.sessions = {5};
    node.fragments.seen = 32;
    node.fragments.admitted = 30;
    node.fragments.duplicate = 2;
    node.events.admitted = node.events.forwarded = 10;
    node.spills = {{1, 10, 0, 10}};
    receiver.program = "receive";
    receiver.sessions = {5};
    receiver.events.admitted = receiver.events.forwarded = 10;
    node.datagrams.received = 14; // a hello, the records of the events, and three more
    replay.ended = node.ended = receiver.ended = true;
    replay.clean = node.clean = receiver.clean = true;
  }

  void send(std::uint64_t events) {
    replay.fragments.seen = replay.fragments.admitted = 3 * events;
    replay.events.admitted = replay.events.forwarded = events;
    replay.spills = {{1, events, 0, events}};
  }

  [[nodiscard]] std::int64_t differences() const {
    const std::vector<ledger> ledgers{replay, node, receiver};
    const auto all = check_ledgers(ledgers, stored);
    return std::count_if(all.begin(), all.end(), [](const agreement& a) { return !a.holds(); });
  }
};

TEST(agreement, holds_for_a_good_run) { EXPECT_EQ(run().differences(), 0); }

TEST(agreement, finds_an_event_that_was_forwarded_and_is_not_stored) {
  run r;
  r.stored[0].events = 9;
  EXPECT_EQ(r.differences(), 2) << "daemon and receiver both claim it";
}

TEST(agreement, finds_an_event_unaccounted_for) {
  run r;
  r.node.events.forwarded = 9;
  r.receiver.events.forwarded = r.receiver.events.admitted = 9;
  r.stored[0].events = 9;
  EXPECT_EQ(r.differences(), 1);
}

TEST(agreement, finds_a_fragment_that_never_arrived) {
  run r;
  r.node.fragments.seen = 31;
  r.node.fragments.admitted = 29;
  EXPECT_EQ(r.differences(), 1);
}

TEST(agreement, finds_an_event_that_was_not_admitted) {
  run r;
  r.node.events.admitted = r.node.events.forwarded = 9;
  r.node.spills[0].admitted = 9;
  r.receiver.events.admitted = r.receiver.events.forwarded = 9;
  r.stored[0].events = 9;
  EXPECT_EQ(r.differences(), 1);
}

TEST(agreement, counts_each_daemon_by_its_own_session) {
  run r;
  r.stored.push_back({6, 1, 4}); // of a daemon whose ledger is not given
  r.receiver.sessions = {5, 6};
  r.receiver.events.admitted = r.receiver.events.forwarded = 14;
  EXPECT_EQ(r.differences(), 0);
}

TEST(agreement, does_not_compare_what_was_sent_if_a_daemon_start_left_no_ledger) {
  run r;
  EXPECT_EQ(sessions_without_ledger(std::vector{r.node}, r.stored), 0U);
  EXPECT_EQ(sessions_without_ledger(std::vector{r.receiver}, r.stored), 0U) << "none was given";
  r.stored.push_back({6, 1, 4}); // killed; the sender went on with the next start
  r.send(14);
  r.receiver.sessions = {5, 6};
  r.receiver.events.admitted = r.receiver.events.forwarded = 14;
  EXPECT_EQ(sessions_without_ledger(std::vector{r.node}, r.stored), 1U);
  EXPECT_EQ(r.differences(), 0);
  r.node.events.forwarded = 9;
  EXPECT_EQ(r.differences(), 2) << "its own sums are still looked at";
}

TEST(agreement, finds_a_ledger_of_the_receiver_that_is_older_than_the_store) {
  run r;
  r.receiver.sessions = {};
  r.receiver.events.admitted = r.receiver.events.forwarded = 0;
  EXPECT_EQ(r.differences(), 1);
  r.receiver.clean = false;
  EXPECT_EQ(r.differences(), 1) << "it ended in order, and does not know all";
  r.receiver.ended = false;
  EXPECT_EQ(r.differences(), 0) << "the receiver still runs";
  r.receiver.events.admitted = r.receiver.events.forwarded = 11;
  EXPECT_EQ(r.differences(), 1) << "more than is stored";
}

TEST(agreement, lets_a_ledger_of_a_killed_daemon_say_less_than_is_stored) {
  run r;
  r.stored.push_back({6, 1, 4}); // of a start that was killed, and left the ledger of its begin
  r.send(14);
  r.receiver.sessions = {5, 6};
  r.receiver.events.admitted = r.receiver.events.forwarded = 14;
  ledger killed;
  killed.program = "koto-l3d";
  killed.sessions = {6};
  killed.datagrams.received = 10;
  const auto differences = [&] {
    const std::vector<ledger> ledgers{r.replay, r.node, r.receiver, killed};
    return std::ranges::count_if(check_ledgers(ledgers, r.stored),
                                 [](const agreement& a) { return !a.holds(); });
  };
  EXPECT_EQ(differences(), 0);
  killed.events.admitted = killed.events.forwarded = 5;
  EXPECT_EQ(differences(), 1) << "more than is stored";
  killed.events.admitted = killed.events.forwarded = 3;
  EXPECT_EQ(differences(), 0);
  killed.ended = true;
  killed.spills = {{1, 3, 0, 3}};
  EXPECT_EQ(differences(), 3) << "it was not killed, and says all";
}

TEST(agreement, takes_a_daemon_at_its_word_that_ended_in_order_whatever_it_lost) {
  run r;
  r.node.clean = false; // as with spool.gone
  EXPECT_EQ(r.differences(), 0);
  r.stored[0].events = r.receiver.events.admitted = r.receiver.events.forwarded = 12;
  EXPECT_EQ(r.differences(), 1) << "more than it forwarded";
  r.node.fragments.seen = 31;
  r.node.fragments.admitted = 29;
  EXPECT_EQ(r.differences(), 2) << "a fragment that never arrived";
}

TEST(agreement, lets_a_receiver_have_stored_what_its_daemon_had_not_heard_of) {
  for (const char* const what : {"drain", "spool", "in_flight"}) {
    run r;
    r.node.clean = false;
    r.node.events.forwarded = 7;
    if (std::string_view(what) == "in_flight")
      r.node.events.in_flight = 3;
    else
      r.node.events.shed[what] = 3;
    EXPECT_EQ(r.differences(), 0) << what << ": all three are stored";
    r.stored[0].events = r.receiver.events.admitted = r.receiver.events.forwarded = 7;
    EXPECT_EQ(r.differences(), 0) << what << ": none is";
    r.stored[0].events = r.receiver.events.admitted = r.receiver.events.forwarded = 11;
    EXPECT_EQ(r.differences(), 1) << what << ": one more than there were";
    r.stored[0].events = r.receiver.events.admitted = r.receiver.events.forwarded = 6;
    EXPECT_EQ(r.differences(), 1) << what << ": one of those that it forwarded is not";
  }
}

TEST(agreement, finds_that_less_was_sent_than_the_file_holds) {
  const run r;
  const auto differences = [&](std::vector<ledger> ledgers, std::uint64_t in_file) {
    return std::ranges::count_if(
        check_ledgers(ledgers, r.stored, {0, in_file, store_kind::store, {}, {}}),
        [](const agreement& a) { return !a.holds(); });
  };
  EXPECT_EQ(differences({r.replay}, 10), 0);
  EXPECT_EQ(differences({r.replay}, 11), 1);
  EXPECT_EQ(differences({r.replay, r.replay}, 10), 0) << "which of them sent what is not known";
}

TEST(agreement, takes_a_spool_for_no_store) {
  run r;
  r.node.events.forwarded = 4;
  r.node.events.in_flight = 6;
  const std::vector<ledger> ledgers{r.node};
  const auto all = check_ledgers(ledgers, r.stored, {0, {}, store_kind::spool, {}, {}});
  EXPECT_TRUE(std::ranges::all_of(all, &agreement::holds));
}

TEST(agreement, finds_bytes_that_are_not_those_in_the_store) {
  run r;
  r.stored[0].bytes = r.node.bytes.out = r.receiver.bytes.out = 4000;
  EXPECT_EQ(r.differences(), 0);
  r.receiver.bytes.out = 1;
  EXPECT_EQ(r.differences(), 1);
  r.receiver.ended = r.receiver.clean = false;
  EXPECT_EQ(r.differences(), 0) << "the receiver still runs";
  r.receiver.bytes.out = 4001;
  EXPECT_EQ(r.differences(), 1) << "more than is stored";
  r.receiver.bytes.out = 4000;
  r.node.bytes.out = 4008;
  EXPECT_EQ(r.differences(), 1);
}

TEST(agreement, lets_a_daemon_have_more_bytes_than_the_store_where_an_event_went_elsewhere) {
  run r;
  r.stored[0].bytes = r.receiver.bytes.out = 4000;
  r.node.bytes.out = 5000;
  EXPECT_EQ(r.differences(), 1);
  r.stored[0].repeated = 1; // another session has stored it
  r.stored[0].events = r.receiver.events.admitted = r.receiver.events.forwarded = 9;
  EXPECT_EQ(r.differences(), 0);
  r.node.bytes.out = 3999;
  EXPECT_EQ(r.differences(), 1) << "less than is stored";
  run given_up;
  given_up.stored[0].bytes = given_up.receiver.bytes.out = 4000;
  given_up.node.bytes.out = 4400;
  given_up.node.events.admitted += 1;
  given_up.node.spills[0].admitted += 1;
  given_up.node.events.shed["drain"] = 1;
  given_up.node.fragments.admitted += 3;
  given_up.node.fragments.seen += 3;
  given_up.send(11);
  EXPECT_EQ(given_up.differences(), 0);
  given_up.node.bytes.out = 3999;
  EXPECT_EQ(given_up.differences(), 1) << "less than is stored";
}

TEST(agreement, finds_that_fewer_bytes_were_sent_than_taken_or_than_the_events_have) {
  run r;
  r.replay.bytes.out = 9000;
  r.node.bytes.in = 9001;
  EXPECT_EQ(r.differences(), 0) << "fragments came again, perhaps of a sender that was killed";
  r.node.fragments.seen = 30;
  r.node.fragments.duplicate = 0;
  EXPECT_EQ(r.differences(), 1);
  r.replay.ended = false;
  EXPECT_EQ(r.differences(), 0) << "it may have sent more than it says";
  r.replay.ended = true;
  r.node.datagrams.malformed["stream_magic"] = 1;
  EXPECT_EQ(r.differences(), 0) << "a stranger has sent the rest";
  r.node.bytes.in = 8000;
  EXPECT_EQ(r.differences(), 0) << "a connection that broke";
  const auto differences = [&](std::uint64_t in_file) {
    known_of_run known;
    known.events_in_file = 10;
    known.bytes_in_file = in_file;
    return std::ranges::count_if(check_ledgers(std::vector{r.replay}, r.stored, known),
                                 [](const agreement& a) { return !a.holds(); });
  };
  EXPECT_EQ(differences(9000), 0);
  EXPECT_EQ(differences(9001), 1);
  r.replay.datagrams.data = 30;
  EXPECT_EQ(differences(9001), 0) << "datagrams may be dropped on purpose";
}

TEST(agreement, holds_for_datagrams_only_where_all_senders_used_them) {
  run r;
  r.node.datagrams = {33, 30, 0, 2, 0, 0, 0, {}};
  EXPECT_EQ(r.differences(), 0) << "the replay sent over TCP";
  r.replay.datagrams.data = 30;
  EXPECT_EQ(r.differences(), 1);
  r.node.datagrams.received = 32;
  EXPECT_EQ(r.differences(), 0);
}

TEST(agreements, are_excused_only_where_damage_was_stepped_over) {
  using where = agreement::counted_in;
  const std::vector<agreement> less_in_store{
      {"receive: events forwarded, and stored", 10, 7, where::store}};
  EXPECT_FALSE(hold(less_in_store));
  EXPECT_TRUE(hold(less_in_store, {true, false}));
  EXPECT_FALSE(hold(less_in_store, {false, true})) << "only the file is damaged";
  EXPECT_EQ(unreadable_events(less_in_store), 3U);
  const std::vector<agreement> more_in_store{
      {"koto-l3d: events forwarded, and stored", 7, 10, where::store}};
  EXPECT_FALSE(hold(more_in_store, {true, true}));
  EXPECT_EQ(unreadable_events(more_in_store), 0U);
  const std::vector<agreement> less_bytes{
      {"receive: bytes of events, and stored", 1000, 700, where::bytes_of_store}};
  EXPECT_FALSE(hold(less_bytes));
  EXPECT_TRUE(hold(less_bytes, {true, false}));
  EXPECT_EQ(unreadable_events(less_bytes), std::nullopt) << "these are bytes";
  const std::vector<agreement> sums{{"events sent, and admitted by the daemon", 10, 7}};
  EXPECT_FALSE(hold(sums, {true, true}));
  EXPECT_EQ(unreadable_events(sums), std::nullopt);
  EXPECT_TRUE(hold(std::vector<agreement>{{"events sent, and in the file", 10, 9, where::file}},
                   {false, true}));
}

} // namespace
} // namespace l3
