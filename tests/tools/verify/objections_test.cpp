// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <set>

#include <gtest/gtest.h>

namespace l3 {
namespace {

given_ledger of(const char* program, std::uint32_t run, std::vector<std::uint64_t> sessions) {
  given_ledger given{std::string(program) + ".json", {}, false};
  given.content.program = program;
  given.content.run = run;
  given.content.sessions = std::move(sessions);
  given.content.ended = given.content.clean = true;
  given.content.events.admitted = given.content.events.forwarded = 10;
  return given;
}

/// A replay of a file of run 7, a daemon with memory and disk, and the receiver's store.
struct run {
  std::vector<event_index::session> stored{{5, 7, 10, 0}};
  given_ledger replay = of(replay_program, 7, {});
  given_ledger node = of(daemon_program, 7, {5, 6});
  given_ledger receiver = of(receive_program, 7, {5});
  store_kind kind = store_kind::store;
  std::set<std::uint32_t> runs_not_compared;
  std::vector<given_ledger> more;
  bool with_receiver = true;

  run() { receiver.of_folder = true; }

  [[nodiscard]] std::vector<std::string> objections() const {
    std::vector<given_ledger> all{replay, node};
    if (with_receiver) all.push_back(receiver);
    all.insert(all.end(), more.begin(), more.end());
    return objections_to(all, {7, "store", kind, stored, runs_not_compared});
  }
  void expect(const std::string& sentence) const {
    EXPECT_EQ(objections(), std::vector<std::string>{sentence});
  }
};

TEST(objections, has_none_to_a_good_run) {
  run r;
  EXPECT_TRUE(r.objections().empty());
  r.receiver.of_folder = false; // it wrote its ledger elsewhere
  EXPECT_TRUE(r.objections().empty());
}

TEST(objections, tells_that_a_store_has_no_ledger) {
  run r;
  r.with_receiver = false;
  const auto all = r.objections();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].starts_with("store has no ledger of its receiver")) << all[0];
  r.stored.clear();
  EXPECT_TRUE(r.objections().empty()) << "nothing was ever acknowledged";
}

TEST(objections, tells_a_ledger_of_another_program_in_the_place_of_the_receivers) {
  run r;
  r.more.push_back(r.replay);
  r.more.back().of_folder = true;
  r.expect("replay.json was written by `replay`: the ledger of a store must be its receiver's");
}

TEST(objections, tells_a_replay_of_another_run_than_the_file) {
  run r;
  r.replay.content.run = 8;
  r.expect("replay.json is of run 8, but the sent file is of run 7");
  r.replay.content.ended = r.replay.content.clean = false;
  r.replay.content.run = 0;
  r.replay.content.events = {};
  EXPECT_TRUE(r.objections().empty()) << "written before the file was read";
}

TEST(objections, takes_a_daemon_of_another_run_than_the_file_because_udp_does_not_say_it) {
  run r;
  r.stored[0].run = r.node.content.run = r.receiver.content.run = 8;
  EXPECT_TRUE(r.objections().empty());
}

TEST(objections, tells_a_receiver_of_another_store) {
  run r;
  r.receiver.content.sessions = {9};
  r.expect("receive.json does not name 1 of the stored sessions: it belongs to another store, or "
           "is older");
  r.receiver.content.sessions = {5};
  r.receiver.content.run = 9;
  r.expect("receive.json is of run 9, but no block of run 9 is stored");
}

TEST(objections, has_none_to_a_receiver_that_still_runs) {
  run r;
  r.receiver.content.ended = r.receiver.content.clean = false;
  r.receiver.content.sessions = {};
  r.receiver.content.run = 0;
  r.receiver.content.events = {};
  EXPECT_TRUE(r.objections().empty());
}

TEST(objections, has_none_to_a_daemon_of_a_later_run_that_only_had_what_was_on_disk) {
  run r;
  r.more.push_back(r.node);
  r.more.back().content.sessions = {8};
  r.more.back().content.run = 8;
  r.expect("koto-l3d.json is of run 8, but no block of run 8 is stored");
  r.more.back().content.events = {};
  EXPECT_TRUE(r.objections().empty());
}

TEST(objections, tells_that_a_spool_does_not_hold_what_its_daemon_left) {
  run r;
  r.kind = store_kind::spool;
  r.with_receiver = false;
  r.node.content.spool.emplace().waiting = 10;
  EXPECT_TRUE(r.objections().empty());
  r.node.content.spool->waiting = 11;
  r.expect("koto-l3d.json: 11 events wait on disk, but store holds 10 of them");
}

} // namespace
} // namespace l3
