// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace l3 {
namespace {

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

std::vector<std::string> differences(const ledger& l, came_by way = came_by::udp_alone) {
  std::vector<std::string> all;
  for (const auto& a : own_sums(l, way))
    if (!a.holds()) all.push_back(a.what);
  return all;
}

void expect(const ledger& l, const std::string& difference, came_by way = came_by::udp_alone) {
  EXPECT_EQ(differences(l, way), std::vector{difference});
}

TEST(own_sums, hold_in_a_good_ledger) {
  EXPECT_EQ(differences(of_daemon()), std::vector<std::string>());
  EXPECT_EQ(differences(of_daemon(), came_by::any), std::vector<std::string>());
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
    expect(l, "koto-l3d: fragments " + name + ", and by crate");
    l = of_daemon();
    l.crates[1].*figure = most_counted;
    expect(l, "koto-l3d: fragments " + name + ", and by crate");
  }
  ledger l = of_daemon();
  l.crates[0].malformed["wrong_slot"] = 1;
  expect(l, "koto-l3d: fragments wrong_slot, and by crate");
  l = of_daemon();
  l.crates[0].malformed["truncated"] = 1;
  expect(l, "koto-l3d: fragments truncated, and by crate");
}

TEST(own_sums, of_a_daemon_that_was_killed_leave_open_what_was_under_way) {
  ledger l = of_daemon();
  l.ended = l.clean = false;
  l.crates[0].seen += 2; // crates are read after the whole
  l.crates[1].malformed["wrong_slot"] += 1;
  l.crates[1].malformed["truncated"] = 1;
  EXPECT_EQ(differences(l), std::vector<std::string>());
  l = of_daemon();
  l.ended = l.clean = false;
  l.fragments.seen += 1; // one has begun
  l.crates[1].seen += 1;
  l.events.admitted += 1; // one was admitted after those in flight were counted
  EXPECT_EQ(differences(l), std::vector<std::string>());
  l.events.forwarded += 2;
  expect(l, "koto-l3d: events admitted, and their outcomes");
  l.events.forwarded -= 2;
  l.crates[1].seen -= 2;
  expect(l, "koto-l3d: fragments seen, and by crate");
}

TEST(own_sums, find_spills_that_do_not_add_up_to_the_admitted_events) {
  ledger l = of_daemon();
  l.spills[1].admitted = 150;
  expect(l, "koto-l3d: events admitted, and by spill");
  l = of_daemon();
  l.earlier_spills.admitted = 2;
  expect(l, "koto-l3d: events admitted, and by spill");
  l.ended = false;
  EXPECT_EQ(differences(l), std::vector<std::string>()) << "it may be older than its spills";
  ledger replay;
  replay.program = replay_program;
  replay.ended = true;
  replay.events.admitted = replay.events.forwarded = 5;
  replay.spills = {{1, 4, 0, 4}};
  expect(replay, "replay: events admitted, and by spill");
}

TEST(own_sums, find_datagrams_that_were_received_and_not_of_any_kind) {
  for (const std::uint64_t received : {1, 29, 31}) {
    ledger l = of_daemon();
    l.datagrams.received = received;
    expect(l, "koto-l3d: datagrams received, and by kind");
  }
}

TEST(own_sums, of_datagrams_are_a_bound_where_some_may_have_come_over_tcp) {
  ledger l = of_daemon();
  l.datagrams.received = 31;
  EXPECT_EQ(differences(l, came_by::any), std::vector<std::string>()) << "a hello";
  l.datagrams.received = 29;
  expect(l, "koto-l3d: datagrams received, and by kind", came_by::any);
  l.datagrams.received = 31;
  l.datagrams.malformed["stream_magic"] = 1;
  EXPECT_EQ(differences(l), std::vector<std::string>()) << "a stranger came over TCP";
}

TEST(own_sums, of_records_over_tcp_hold_a_record_for_each_event) {
  ledger l = of_daemon();
  l.datagrams = {12, 0, 0, 2, 0, 0, 0, {{"stream_magic", 7}}};
  EXPECT_EQ(differences(l, came_by::any), std::vector<std::string>());
  l.datagrams.received = 11;
  expect(l, "koto-l3d: datagrams received, and by kind", came_by::any);
}

} // namespace
} // namespace l3
