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
    replay.fragments.seen = replay.fragments.admitted = 30;
    replay.events.admitted = replay.events.forwarded = 10;
    node.program = "koto-l3d";
    node.sessions = {5};
    node.fragments.seen = 32;
    node.fragments.admitted = 30;
    node.fragments.duplicate = 2;
    node.events.admitted = node.events.forwarded = 10;
    receiver.program = "receive";
    receiver.sessions = {5};
    receiver.events.admitted = receiver.events.forwarded = 10;
    replay.ended = node.ended = receiver.ended = true;
    replay.clean = node.clean = receiver.clean = true;
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
  r.receiver.events.admitted = r.receiver.events.forwarded = 9;
  r.stored[0].events = 9;
  EXPECT_EQ(r.differences(), 1);
}

TEST(agreement, leaves_out_fragments_that_were_refused_for_their_other_bytes) {
  run r;
  r.node.fragments.seen += 3; // of another sender, whose ledger is not given
  r.node.fragments.conflicting = 3;
  EXPECT_EQ(r.differences(), 0);
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
  r.replay.fragments.seen = r.replay.fragments.admitted = 42;
  r.replay.events.admitted = r.replay.events.forwarded = 14;
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
  r.replay.fragments.seen = r.replay.fragments.admitted = 42;
  r.replay.events.admitted = r.replay.events.forwarded = 14;
  r.receiver.sessions = {5, 6};
  r.receiver.events.admitted = r.receiver.events.forwarded = 14;
  ledger killed;
  killed.program = "koto-l3d";
  killed.sessions = {6};
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
        check_ledgers(ledgers, r.stored, {0, in_file, store_kind::store, {}}),
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
  const auto all = check_ledgers(ledgers, r.stored, {0, {}, store_kind::spool, {}});
  EXPECT_TRUE(std::ranges::all_of(all, &agreement::holds));
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
  const std::vector<agreement> sums{{"events sent, and admitted by the daemon", 10, 7}};
  EXPECT_FALSE(hold(sums, {true, true}));
  EXPECT_EQ(unreadable_events(sums), std::nullopt);
  EXPECT_TRUE(hold(std::vector<agreement>{{"events sent, and in the file", 10, 9, where::file}},
                   {false, true}));
}

} // namespace
} // namespace l3
