// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/comparison.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tools/verify/agreement.hpp"

namespace l3 {
namespace {

ledger daemon_ledger(std::uint64_t session) {
  ledger l;
  l.program = daemon_program;
  l.sessions = {session};
  return l;
}

/// 10 events of 3 fragments were sent, and 2 of them once more: the first start of the daemon gave
/// them up at its stop.
struct two_starts {
  ledger first = daemon_ledger(5), second = daemon_ledger(6), replay;
  std::vector<event_index::session> stored{{5, 1, 4}, {6, 1, 6}};
  comparison compared;

  two_starts() {
    first.events.admitted = 6;
    first.events.forwarded = 4;
    first.events.shed = {{"drain", 2}};
    second.events.admitted = second.events.forwarded = 6;
    for (auto* l : {&first, &second}) {
      l->fragments.seen = l->fragments.admitted = 3 * l->events.admitted;
      l->spills = {{1, l->events.admitted, 0, l->events.admitted}};
      l->datagrams.received = 1 + l->events.admitted; // a hello, and the records of the events
    }
    replay.program = replay_program;
    replay.events.admitted = replay.events.forwarded = 10;
    replay.fragments.seen = replay.fragments.admitted = 30;
    replay.spills = {{1, 10, 0, 10}};
    first.ended = second.ended = replay.ended = true;
    second.clean = replay.clean = true;
    compared.sent = compared.equal = compared.stored = 10;
  }

  [[nodiscard]] std::vector<ledger> ledgers() const { return {first, second, replay}; }
  [[nodiscard]] event_fates fates(bool selected = false) const {
    return fates_of(ledgers(), stored, compared, selected).value();
  }
  [[nodiscard]] std::int64_t differences() const {
    const auto all =
        check_ledgers(ledgers(), stored, {fates().came_again(), {}, store_kind::store, {}, {}});
    return std::ranges::count_if(all, [](const agreement& a) { return !a.holds(); });
  }
};

TEST(fates, knows_what_was_shed_at_a_stop_and_came_again) {
  const two_starts t;
  EXPECT_EQ(t.fates().shed_and_again, 2U);
  EXPECT_EQ(t.fates().shed, 0U);
  EXPECT_EQ(t.fates().unknown, 0U);
  EXPECT_EQ(t.differences(), 0);
}

TEST(fates, does_not_excuse_an_event_that_was_admitted_once_too_often) {
  two_starts t;
  ++t.second.events.admitted;
  ++t.second.events.forwarded;
  ++t.second.spills[0].admitted;
  EXPECT_EQ(t.fates().came_again(), 0U);
  EXPECT_EQ(t.fates().shed, 2U);
  EXPECT_GE(t.differences(), 2);
}

TEST(fates, takes_no_other_loss_for_one_that_came_again) {
  two_starts t;
  t.first.events.shed = {{"no_frame", 2}};
  t.first.clean = true;
  EXPECT_EQ(t.fates().came_again(), 0U);
  EXPECT_EQ(t.differences(), 2);
}

TEST(fates, tells_what_came_again_from_what_is_lost) {
  two_starts t; // one of the two does not come again, and one of another reason is missing
  t.first.events.shed = {{"drain", 2}, {"priority", 1}};
  t.first.events.admitted = 7;
  t.second.events.admitted = t.second.events.forwarded = 4;
  t.stored[1].events = 4;
  t.compared.stored = t.compared.equal = 8;
  t.compared.missing = 2;
  EXPECT_EQ(t.fates().shed_and_again, 1U);
  EXPECT_EQ(t.fates().shed, 2U);
  EXPECT_EQ(t.fates().unknown, 0U);
}

TEST(fates, knows_stored_events_that_came_again) {
  two_starts t; // the receiver left one out; of another it had forgotten that it was stored
  t.second.events.admitted = t.second.events.forwarded = 8;
  t.second.spills[0].admitted = 8;
  t.second.fragments.seen = t.second.fragments.admitted = 24;
  t.second.datagrams.received = 9;
  t.stored[1].events = 7;
  t.stored[1].repeated = 1;
  t.compared.stored = 11;
  t.compared.repeated = 1;
  EXPECT_EQ(t.fates().stored_and_again, 2U);
  EXPECT_EQ(t.fates().shed_and_again, 2U);
  EXPECT_EQ(t.differences(), 0);
}

TEST(fates, believes_nothing_if_a_session_is_in_no_ledger) {
  two_starts t;
  t.stored.push_back({7, 1, 0});
  EXPECT_EQ(t.fates().came_again(), 0U);
}

TEST(fates, explains_missing_events_by_what_the_ledgers_count) {
  two_starts t;
  t.first.events = {9, 4, 1, {{"no_frame", 2}, {"drain", 0}}, 2};
  t.second.events = {};
  t.compared.missing = 6;
  EXPECT_EQ(t.fates().shed, 2U);
  EXPECT_EQ(t.fates().rejected, 1U);
  EXPECT_EQ(t.fates().left, 2U);
  EXPECT_EQ(t.fates().unknown, 1U);
  EXPECT_EQ(t.fates(true).rejected, 0U) << "then it is not among the missing";

  t.second.spool = spool_account{0, 2, 0, {{5, 2, 0}}}; // delivered what the first had left
  t.compared.missing = 4;
  EXPECT_EQ(t.fates().left, 0U);
  EXPECT_EQ(t.fates().unknown, 1U);
}

TEST(fates, explains_missing_events_by_fragments_that_did_not_come) {
  two_starts t;
  t.first.events = {};
  t.second.events = {6, 6, 0, {}, 0};
  t.second.fragments.admitted = 18;
  t.second.crates.resize(3);
  t.second.spills = {{1, 6, 2, 10}};
  t.second.earlier_spills.incomplete = 1;
  t.compared.missing = 4;
  EXPECT_EQ(t.fates().incomplete, 3U);
  EXPECT_EQ(t.fates().unknown, 1U);
  t.compared.missing = 2;
  EXPECT_EQ(t.fates().incomplete, 2U);
  EXPECT_EQ(t.fates().unknown, 0U);
  t.second.fragments.admitted = 17; // an event was forwarded without one of its fragments
  EXPECT_EQ(t.fates().incomplete, 0U);
  EXPECT_EQ(t.fates().unknown, 2U);
}

TEST(fates, needs_a_ledger_of_a_daemon) {
  const two_starts t;
  EXPECT_FALSE(fates_of(std::vector{t.replay}, t.stored, t.compared, false));
}

} // namespace
} // namespace l3
