// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace l3 {
namespace {

/// The ledgers of a run in which 10 events of 3 fragments went all the way, and 2 fragments came
/// twice.
struct run {
  ledger replay, node, receiver;
  std::vector<event_index::session> stored{{5, 1, 10}};
  std::vector<ledger> more;

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

  /// A second start of the daemon that was killed: the sender went on with it.
  void is_killed_and_starts_again() {
    stored.push_back({6, 1, 4});
    send(14);
    receiver.sessions = {5, 6};
    receiver.events.admitted = receiver.events.forwarded = 14;
  }
  /// Whose ledger of its begin or its end says this.
  void leaves_a_ledger_of_its_second_start(std::uint64_t events, bool ended) {
    is_killed_and_starts_again();
    ledger& second = more.emplace_back();
    second.program = "koto-l3d";
    second.sessions = {6};
    second.datagrams.received = 10;
    second.events.admitted = second.events.forwarded = events;
    second.ended = ended;
    if (ended) second.spills = {{1, events, 0, events}};
  }

  /// Sets figures by their names: "stored=9 node.forwarded=9".
  void set(const std::string& changes) {
    const std::map<std::string, std::vector<std::uint64_t*>> figures{
        {"sent.bytes", {&replay.bytes.out}},
        {"sent.datagrams", {&replay.datagrams.data}},
        {"node.admitted", {&node.events.admitted, &node.spills[0].admitted}},
        {"node.forwarded", {&node.events.forwarded}},
        {"node.shed", {&node.events.shed["drain"]}},
        {"node.seen", {&node.fragments.seen}},
        {"node.fragments", {&node.fragments.admitted}},
        {"node.duplicate", {&node.fragments.duplicate}},
        {"node.received", {&node.datagrams.received}},
        {"node.data", {&node.datagrams.data}},
        {"node.stranger", {&node.datagrams.malformed["stream_magic"]}},
        {"node.in", {&node.bytes.in}},
        {"node.bytes", {&node.bytes.out}},
        {"receiver", {&receiver.events.admitted, &receiver.events.forwarded}},
        {"receiver.bytes", {&receiver.bytes.out}},
        {"stored", {&stored[0].events, &receiver.events.admitted, &receiver.events.forwarded}},
        {"in_store", {&stored[0].events}},
        {"repeated", {&stored[0].repeated}},
        {"in_store.bytes", {&stored[0].bytes}}};
    std::istringstream all(changes);
    for (std::string change; all >> change;) {
      const auto at = change.find('=');
      for (std::uint64_t* figure : figures.at(change.substr(0, at)))
        *figure = std::stoull(change.substr(at + 1));
    }
  }

  /// The number of agreements that do not hold.
  [[nodiscard]] std::int64_t differences() const {
    std::vector<ledger> ledgers{replay, node, receiver};
    ledgers.insert(ledgers.end(), more.begin(), more.end());
    return std::ranges::count_if(check_ledgers(ledgers, stored),
                                 [](const agreement& a) { return !a.holds(); });
  }
};

/// What is changed in the good run, and how many agreements then do not hold.
struct row {
  const char* changes;
  std::int64_t differences;
};

void expect(
    const std::vector<row>& rows, void (*change)(run&) = [](run&) {}) {
  for (const row& r : rows) {
    run changed;
    change(changed);
    changed.set(r.changes);
    EXPECT_EQ(changed.differences(), r.differences) << r.changes;
  }
}

TEST(agreement, holds_for_events_that_went_all_the_way) {
  expect({{"", 0},
          {"in_store=9", 2}, // daemon and receiver both claim it
          {"node.forwarded=9 stored=9", 1},
          {"node.seen=31 node.fragments=29", 1},
          {"node.admitted=9 node.forwarded=9 stored=9", 1}});
}

TEST(agreement, of_what_was_sent_is_open_if_a_daemon_start_left_no_ledger) {
  // Its own sums are still looked at.
  expect({{"", 0}, {"node.forwarded=9", 2}}, [](run& r) { r.is_killed_and_starts_again(); });
}

TEST(agreement, of_a_killed_daemon_lets_its_ledger_say_less_than_is_stored) {
  expect({{"", 0}}, [](run& r) { r.leaves_a_ledger_of_its_second_start(3, false); });
  expect({{"", 1}}, [](run& r) { r.leaves_a_ledger_of_its_second_start(5, false); });
  expect({{"", 3}}, [](run& r) { r.leaves_a_ledger_of_its_second_start(3, true); });
  // One that ended in order says all, whatever it lost.
  expect({{"", 0}, {"stored=12", 1}, {"stored=12 node.seen=31 node.fragments=29", 2}},
         [](run& r) { r.node.clean = false; });
}

TEST(agreement, of_a_receiver_that_still_runs_is_a_bound) {
  expect({{"receiver=0", 1}, {"receiver=11", 1}}, [](run& r) { r.receiver.sessions = {}; });
  expect({{"receiver=0", 0},
          {"receiver=11", 1},
          {"in_store.bytes=4000 node.bytes=4000 receiver.bytes=1", 0},
          {"in_store.bytes=4000 node.bytes=4000 receiver.bytes=4001", 1}},
         [](run& r) {
           r.receiver.sessions = {};
           r.receiver.ended = r.receiver.clean = false;
         });
}

TEST(agreement, holds_for_bytes_too) {
  expect({{"in_store.bytes=4000 node.bytes=4000 receiver.bytes=4000", 0},
          {"in_store.bytes=4000 node.bytes=4000 receiver.bytes=1", 1},
          {"in_store.bytes=4000 node.bytes=4008 receiver.bytes=4000", 1},
          // Another session has stored one of its events.
          {"in_store.bytes=4000 node.bytes=5000 receiver.bytes=4000 repeated=1 stored=9", 0},
          {"in_store.bytes=4000 node.bytes=3999 receiver.bytes=4000 repeated=1 stored=9", 1}});
  expect({{"in_store.bytes=4000 node.bytes=4400 receiver.bytes=4000", 0},
          {"in_store.bytes=4000 node.bytes=3999 receiver.bytes=4000", 1}},
         [](run& r) { // which gave up an event at its end
           r.send(11);
           r.set("node.admitted=11 node.shed=1 node.fragments=33 node.seen=35");
         });
}

TEST(agreement, finds_that_fewer_bytes_were_sent_than_taken) {
  const char* const once = "sent.bytes=9000 node.in=9001 node.seen=30 node.duplicate=0";
  expect({{"sent.bytes=9000 node.in=9001", 0}, // fragments came again
          {once, 1},
          {"sent.bytes=9000 node.in=9001 node.seen=30 node.duplicate=0 node.stranger=1", 0},
          {"sent.bytes=9000 node.in=8000", 0}});               // a connection that broke
  expect({{once, 0}}, [](run& r) { r.replay.ended = false; }); // it may have sent more
}

TEST(agreement, holds_for_datagrams_only_where_all_senders_used_them) {
  expect({{"node.received=33", 0},
          {"node.received=33 sent.datagrams=30", 1},
          {"sent.datagrams=30", 0}},
         [](run& r) { r.node.datagrams = {32, 30, 0, 2, 0, 0, 0, {}}; });
}

TEST(agreement, counts_sessions_without_a_ledger) {
  run r;
  r.is_killed_and_starts_again();
  EXPECT_EQ(sessions_without_ledger(std::vector{r.node}, r.stored), 1U);
  EXPECT_EQ(sessions_without_ledger(std::vector{r.receiver}, r.stored), 0U) << "none was given";
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
    // All three are stored, none is, one more than there were, and one that it forwarded is not.
    for (const auto& [events, differences] : {std::pair{10U, 0}, {7U, 0}, {11U, 1}, {6U, 1}}) {
      r.set("stored=" + std::to_string(events));
      EXPECT_EQ(r.differences(), differences) << what << ' ' << events;
    }
  }
}

TEST(agreement, finds_that_less_was_sent_than_the_file_holds) {
  run r;
  known_of_run known;
  const auto differences = [&](const std::vector<ledger>& ledgers) {
    return std::ranges::count_if(check_ledgers(ledgers, r.stored, known),
                                 [](const agreement& a) { return !a.holds(); });
  };
  known.events_in_file = 10;
  EXPECT_EQ(differences({r.replay}), 0);
  known.events_in_file = 11;
  EXPECT_EQ(differences({r.replay}), 1);
  EXPECT_EQ(differences({r.replay, r.replay}), 0) << "which of them sent what is not known";
  known.events_in_file = 10;
  r.replay.bytes.out = known.bytes_in_file.emplace(9000);
  EXPECT_EQ(differences({r.replay}), 0);
  ++*known.bytes_in_file;
  EXPECT_EQ(differences({r.replay}), 1);
  r.replay.datagrams.data = 30;
  EXPECT_EQ(differences({r.replay}), 0) << "datagrams may be dropped on purpose";
}

TEST(agreement, takes_a_spool_for_no_store) {
  run r;
  r.node.events.forwarded = 4;
  r.node.events.in_flight = 6;
  known_of_run known;
  known.kind = store_kind::spool;
  const auto all = check_ledgers(std::vector{r.node}, r.stored, known);
  EXPECT_TRUE(std::ranges::all_of(all, &agreement::holds));
}

TEST(agreements, are_excused_only_where_damage_was_stepped_over) {
  using where = agreement::counted_in;
  const std::vector<agreement> less_in_store{
      {"receive: events forwarded, and stored", 10, 7, where::store}};
  EXPECT_FALSE(hold(less_in_store));
  EXPECT_TRUE(hold(less_in_store, true));
  EXPECT_EQ(unreadable_events(less_in_store), 3U);
  const std::vector<agreement> more_in_store{
      {"koto-l3d: events forwarded, and stored", 7, 10, where::store}};
  EXPECT_FALSE(hold(more_in_store, true));
  EXPECT_EQ(unreadable_events(more_in_store), 0U);
  const std::vector<agreement> less_bytes{
      {"receive: bytes of events, and stored", 1000, 700, where::bytes_of_store}};
  EXPECT_FALSE(hold(less_bytes));
  EXPECT_TRUE(hold(less_bytes, true));
  EXPECT_EQ(unreadable_events(less_bytes), std::nullopt) << "these are bytes";
  const std::vector<agreement> sums{{"events sent, and admitted by the daemon", 10, 7}};
  EXPECT_FALSE(hold(sums, true));
  EXPECT_EQ(unreadable_events(sums), std::nullopt);
}

/// 10 events of two crates in two spills; a fragment of the second crate was malformed.
ledger of_daemon() {
  ledger l;
  l.program = daemon_program;
  l.ended = l.clean = true;
  l.events.admitted = l.events.forwarded = 10;
  l.fragments = {21, 19, 0, {{"wrong_slot", 1}}, 0, 1};
  l.crates = {{0, 11, 10, 0, {{"wrong_slot", 0}}, 0, 1, 0, 0, 0, 0},
              {1, 10, 9, 0, {{"wrong_slot", 1}}, 0, 0, 0, 0, 0, 0}};
  l.spills = {{1, 4, 0, 4}, {2, 3, 1, 4}};
  l.earlier_spills = {1, 3, 0};
  l.datagrams = {30, 20, 6, 2, 0, 0, 0, {{"too_short", 2}, {"stream_magic", 0}}};
  return l;
}

std::vector<std::string> sums_that_differ(const ledger& l, came_by way = came_by::udp_alone) {
  std::vector<std::string> all;
  for (const auto& a : own_sums(l, way))
    if (!a.holds()) all.push_back(a.what);
  return all;
}

void expect_sum(const ledger& l, const std::string& difference, came_by way = came_by::udp_alone) {
  EXPECT_EQ(sums_that_differ(l, way), std::vector{difference});
}
void expect_none(const ledger& l, came_by way = came_by::udp_alone) {
  EXPECT_EQ(sums_that_differ(l, way), std::vector<std::string>());
}

TEST(own_sums, find_a_crate_whose_figures_do_not_add_up_to_the_whole) {
  using part = std::uint64_t crate_account::*;
  const std::vector<std::pair<part, std::string>> parts{{&crate_account::seen, "seen"},
                                                        {&crate_account::admitted, "admitted"},
                                                        {&crate_account::incomplete, "incomplete"},
                                                        {&crate_account::late, "late"},
                                                        {&crate_account::duplicate, "duplicate"}};
  for (const auto& [figure, name] : parts) {
    ledger l = of_daemon();
    l.crates[1].*figure += 1;
    expect_sum(l, "koto-l3d: fragments " + name + ", and by crate");
    l = of_daemon();
    l.crates[1].*figure += std::uint64_t{1} << 53;
    expect_sum(l, "koto-l3d: fragments " + name + ", and by crate");
  }
  ledger l = of_daemon();
  l.crates[0].malformed["wrong_slot"] = 1;
  expect_sum(l, "koto-l3d: fragments wrong_slot, and by crate");
  l = of_daemon();
  l.crates[0].malformed["truncated"] = 1;
  expect_sum(l, "koto-l3d: fragments truncated, and by crate");
}

TEST(own_sums, of_a_daemon_that_was_killed_leave_open_what_was_under_way) {
  ledger l = of_daemon();
  l.ended = l.clean = false;
  l.crates[0].seen += 2; // crates are read after the whole
  l.crates[1].malformed["wrong_slot"] += 1;
  l.crates[1].malformed["truncated"] = 1;
  expect_none(l);
  l = of_daemon();
  l.ended = l.clean = false;
  l.fragments.seen += 1; // one has begun
  l.crates[1].seen += 1;
  l.events.admitted += 1; // one was admitted after those in flight were counted
  expect_none(l);
  l.events.forwarded += 2;
  expect_sum(l, "koto-l3d: events admitted, and their outcomes");
  l.events.forwarded -= 2;
  l.crates[1].seen -= 2;
  expect_sum(l, "koto-l3d: fragments seen, and by crate");
}

TEST(own_sums, find_spills_that_do_not_add_up_to_the_admitted_events) {
  ledger l = of_daemon();
  l.spills[1].admitted = 150;
  expect_sum(l, "koto-l3d: events admitted, and by spill");
  l = of_daemon();
  l.earlier_spills.admitted = 2;
  expect_sum(l, "koto-l3d: events admitted, and by spill");
  l.ended = false;
  expect_none(l); // it may be older than its spills
  ledger replay;
  replay.program = replay_program;
  replay.ended = true;
  replay.events.admitted = replay.events.forwarded = 5;
  replay.spills = {{1, 4, 0, 4}};
  expect_sum(replay, "replay: events admitted, and by spill");
}

TEST(own_sums, of_datagrams_are_a_bound_where_some_may_have_come_over_tcp) {
  const std::string kinds = "koto-l3d: datagrams received, and by kind";
  ledger l = of_daemon();
  expect_none(l, came_by::any);
  for (const std::uint64_t received : {1, 29, 31}) {
    l.datagrams.received = received;
    expect_sum(l, kinds);
  }
  expect_none(l, came_by::any); // a hello
  l.datagrams.malformed["stream_magic"] = 1;
  expect_none(l); // a stranger came over TCP
  l = of_daemon();
  l.datagrams.received = 29;
  expect_sum(l, kinds, came_by::any);
  // Over TCP there is a record for each event.
  l.datagrams = {12, 0, 0, 2, 0, 0, 0, {{"stream_magic", 7}}};
  expect_none(l, came_by::any);
  l.datagrams.received = 11;
  expect_sum(l, kinds, came_by::any);
}

} // namespace
} // namespace l3
