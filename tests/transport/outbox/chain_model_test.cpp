// SPDX-License-Identifier: Apache-2.0
// Every interleaving of what may happen to an event between its sender and the store, within
// bounds: nothing that was acknowledged is lost, nothing is stored twice, and from each state a way
// to the end. Then each rule is left out, and something must be found.
#include "tests/transport/outbox/chain_machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace l3::test::chain {
namespace {

struct bounds {
  std::uint8_t events;
  std::uint8_t lives;
  faults what;
  enum { whole, sealed_at_once, only_disk } how = whole;
};

state_search<state, machine> explore(const rules& r, const bounds& b) {
  state first;
  first.events = b.events;
  first.lives = b.lives;
  first.left = b.what;
  if (b.how != bounds::whole) first.blocks_stay_open = 0;
  if (b.how == bounds::only_disk) first.has_memory = 0;
  return {machine(r), first};
}

struct bounded {
  const char* name;
  bounds within;
};

void expect_nothing(const std::vector<bounded>& all) {
  for (const auto& [name, within] : all) {
    const auto s = explore({}, within);
    EXPECT_EQ(s.found(), "") << name;
    std::printf("%s, %d events, %d lives: %zu states\n", name, within.events, within.lives,
                s.states());
    std::fflush(stdout);
  }
}

TEST(chain_model, loses_doubles_and_blocks_nothing) {
  expect_nothing({
      {"kill", {3, 2, {.kills = 1}, bounds::sealed_at_once}},
      {"kill, reset of the input", {2, 2, {.kills = 1, .resets = 1}}},
      {"kill, deaths of the receiver", {2, 2, {.kills = 1, .deaths = 2}}},
      {"kill, store error, power cut", {2, 2, {.kills = 1, .power_cuts = 1, .errors = 1}}},
      {"kill, damage on disk", {2, 2, {.kills = 1, .damages = 1}}},
      {"kill, damages on disk", {3, 2, {.kills = 1, .damages = 2}, bounds::only_disk}},
      {"stop, store error", {2, 2, {.stops = 1, .errors = 1}}},
      {"stop, kill", {2, 3, {.kills = 1, .stops = 1}, bounds::only_disk}},
      {"two kills", {2, 3, {.kills = 2}, bounds::sealed_at_once}},
  });
}

TEST(chain_model, believes_no_liar) {
  expect_nothing({
      {"lie, kill", {2, 2, {.kills = 1, .lies = 2}}},
      {"lie, stop", {2, 2, {.stops = 1, .lies = 1}}},
      {"lie, death of the receiver", {2, 1, {.deaths = 1, .lies = 1}}},
  });
}

TEST(chain_model, loses_doubles_and_blocks_nothing_with_more_faults) {
  if (std::getenv("L3_LONG") == nullptr) GTEST_SKIP() << "takes minutes: L3_LONG=1";
  expect_nothing({
      {"kill", {3, 2, {.kills = 1}}},
      {"kill, death of the receiver", {3, 2, {.kills = 1, .deaths = 1}, bounds::sealed_at_once}},
      {"kill, damage on disk", {3, 2, {.kills = 1, .damages = 1}, bounds::sealed_at_once}},
      {"stop, kill", {2, 3, {.kills = 1, .stops = 1}}},
      {"kill, store error", {3, 2, {.kills = 1, .errors = 1}, bounds::sealed_at_once}},
      {"two kills, power cut", {2, 3, {.kills = 2, .power_cuts = 1}, bounds::only_disk}},
      {"two kills, death of the receiver",
       {2, 3, {.kills = 2, .deaths = 1}, bounds::sealed_at_once}},
      {"two kills, damage on disk", {3, 3, {.kills = 2, .damages = 1}, bounds::only_disk}},
      {"two kills", {3, 3, {.kills = 2}, bounds::only_disk}},
  });
}

struct without {
  const char* name;
  bool rules::*rule;
  bounds within;
  const char* found;
};

TEST(chain_model, finds_what_each_rule_is_for) {
  const std::vector<without> all = {
      {"send again", &rules::send_again, {2, 2, {.kills = 1}}, "acknowledged and lost"},
      {"know repeats", &rules::know_repeats, {2, 1, {.resets = 1}}, "taken twice in one life"},
      {"a repeat waits for the original",
       &rules::repeat_waits_for_original,
       {2, 1, {.resets = 1}},
       "acknowledged and lost"},
      {"wait for disk or store",
       &rules::wait_for_disk_or_store,
       {2, 1, {}},
       "acknowledged and lost"},
      {"wait for all before", &rules::wait_for_all_before, {2, 1, {}}, "acknowledged and lost"},
      {"wait for the open block", &rules::wait_for_open_block, {2, 1, {}}, "acknowledged and lost"},
      {"nothing is safe after a loss",
       &rules::nothing_is_safe_after_loss,
       {2, 2, {.stops = 1}},
       "acknowledged and lost"},
      {"keep on disk until it is stored",
       &rules::keep_until_stored,
       {2, 1, {}},
       "acknowledged and lost"},
      {"leave when all is on disk",
       &rules::leave_when_all_is_on_disk,
       {2, 2, {.stops = 1}},
       "left behind by a daemon that had time to drain"},
      {"send what was found",
       &rules::send_what_was_found,
       {2, 2, {.kills = 1}},
       "no way to the end"},
      {"begin where the hello says",
       &rules::begin_where_hello_says,
       {2, 2, {.kills = 1, .damages = 1}},
       "no way to the end"},
      {"believe more of a remainder",
       &rules::believe_more_of_remainder,
       {2, 2, {.kills = 1}},
       "no way to the end"},
      {"believe nothing that was not sent",
       &rules::believe_nothing_unsent,
       {2, 1, {.lies = 1}},
       "acknowledged and lost"},
      {"believe nothing that was not sent from disk",
       &rules::believe_nothing_unsent,
       {2, 1, {.lies = 1}, bounds::only_disk},
       "acknowledged and lost"},
      {"an empty block for a missing one",
       &rules::empty_for_missing,
       {3, 2, {.kills = 1, .damages = 1}, bounds::only_disk},
       "no way to the end"},
      {"an empty block behind what is stored",
       &rules::empty_behind_what_is_stored,
       {3, 2, {.kills = 1, .damages = 1}, bounds::only_disk},
       "no way to the end"},
      {"leave out repeats", &rules::leave_out_repeats, {2, 2, {.kills = 1}}, "stored twice"},
      {"recall", &rules::recall, {2, 2, {.kills = 1, .deaths = 1}}, "stored twice"},
      {"take back from memory",
       &rules::take_back_from_memory,
       {2, 2, {.kills = 1, .errors = 1}},
       "acknowledged and lost"},
      {"commit before leaving out",
       &rules::commit_before_leaving_out,
       {2, 2, {.kills = 1, .power_cuts = 1}},
       "acknowledged and lost"},
  };
  for (const auto& [name, rule, within, found] : all) {
    rules r;
    r.*rule = false;
    const auto s = explore(r, within);
    EXPECT_EQ(s.found().substr(0, std::strlen(found)), found) << name << ": " << s.found();
    EXPECT_EQ(explore({}, within).found(), "") << name << " is not what was missing";
    std::printf("without \"%s\": %s\n", name, s.found().c_str());
  }
}

} // namespace
} // namespace l3::test::chain
