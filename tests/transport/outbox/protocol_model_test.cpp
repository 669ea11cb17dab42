// SPDX-License-Identifier: Apache-2.0
// Every interleaving of the protocol's steps, within bounds: no state that must not be, and from
// each a way to the end. Then each rule is left out, and something must be found.
#include "tests/transport/outbox/protocol_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/outbox/state_search.hpp"

namespace l3::test::protocol {
namespace {

state_search<state, machine> explore(const rules& r, const faults& f, std::uint8_t blocks) {
  state first;
  first.blocks = blocks;
  first.left = f;
  return {machine(r), first};
}

struct bounded {
  const char* name;
  std::uint8_t blocks;
  faults what;
};

faults of(const std::function<void(faults&)>& set) {
  faults f;
  set(f);
  return f;
}

void expect_nothing(const std::vector<bounded>& all) {
  for (const auto& [name, blocks, what] : all) {
    const auto s = explore({}, what, blocks);
    EXPECT_EQ(s.found(), "") << name;
    std::printf("%s, %d blocks: %zu states\n", name, blocks, s.states());
  }
}

TEST(protocol_model, loses_doubles_and_blocks_nothing) {
  expect_nothing({
      {"break", 3, of([](faults& f) { f.breaks = 1; })},
      {"crash of the receiver's machine, store error", 3,
       of([](faults& f) { f.crashes = f.errors = 1; })},
      {"crash of the receiver's machine, damage in its store", 3,
       of([](faults& f) { f.crashes = f.rots = 1; })},
      {"damage in the store, restart of the daemon", 2,
       of([](faults& f) { f.rots = f.restarts = 1; })},
      {"break, crash of the receiver's machine", 2,
       of([](faults& f) { f.breaks = f.crashes = 1; })},
      {"kill of the receiver, restart of the daemon", 2,
       of([](faults& f) { f.kills = f.restarts = 1; })},
      {"restart of the daemon, damage", 2, of([](faults& f) { f.restarts = f.damages = 1; })},
      {"store elsewhere, restart of the daemon", 2,
       of([](faults& f) { f.moves = f.restarts = 1; })},
      {"overtaking", 4, of([](faults& f) { f.overtakes = 2; })},
      {"overtaking, break", 2, of([](faults& f) { f.overtakes = f.breaks = 1; })},
      {"overtaking, store error", 3, of([](faults& f) { f.overtakes = f.errors = 1; })},
      {"overtaking, kill of the receiver", 3, of([](faults& f) { f.overtakes = f.kills = 1; })},
      {"overtaking, crash of the receiver's machine", 2,
       of([](faults& f) { f.overtakes = f.crashes = 1; })},
      {"overtaking, store elsewhere", 3, of([](faults& f) { f.overtakes = 2, f.moves = 1; })},
      {"overtaking, restart of the daemon", 2, of([](faults& f) { f.overtakes = f.restarts = 1; })},
      {"overtaking, damage in the store", 3, of([](faults& f) { f.overtakes = f.rots = 1; })},
      {"forgotten, store error", 3, of([](faults& f) { f.forgets = f.errors = 1; })},
  });
}

TEST(protocol_model, believes_no_liar) {
  expect_nothing({
      {"lie", 3, of([](faults& f) { f.lies = 2; })},
      {"lie, restart of the daemon", 3, of([](faults& f) { f.lies = f.restarts = 1; })},
      {"lie, break", 2, of([](faults& f) { f.lies = f.breaks = 1; })},
  });
}

TEST(protocol_model, loses_doubles_and_blocks_nothing_with_more_faults) {
  if (std::getenv("L3_LONG") == nullptr) GTEST_SKIP() << "takes minutes: L3_LONG=1";
  expect_nothing({
      {"two breaks", 3, of([](faults& f) { f.breaks = 2; })},
      {"break, store error", 3, of([](faults& f) { f.breaks = f.errors = 1; })},
      {"break, crash, store error", 2, of([](faults& f) { f.breaks = f.crashes = f.errors = 1; })},
      {"break, kill, restart of the daemon", 2,
       of([](faults& f) { f.breaks = f.kills = f.restarts = 1; })},
      {"two crashes, damage in the store", 3, of([](faults& f) { f.crashes = 2, f.rots = 1; })},
      {"crash, damage in the store, restart of the daemon", 3,
       of([](faults& f) { f.crashes = f.rots = f.restarts = 1; })},
      {"break, restart of the daemon, damage", 2,
       of([](faults& f) { f.breaks = f.restarts = f.damages = 1; })},
  });
}

struct without {
  const char* name;
  std::function<void(rules&)> rule;
  faults what;
  const char* found;
};

TEST(protocol_model, finds_what_each_rule_is_for) {
  const auto breaks = of([](faults& f) { f.breaks = 1; });
  const auto errors = of([](faults& f) { f.errors = 1; });
  const std::vector<without> all = {
      {"acknowledge after commit", [](rules& r) { r.acknowledge_after_commit = false; },
       of([](faults& f) { f.crashes = 1; }), "acknowledged and not stored"},
      {"welcome after commit", [](rules& r) { r.welcome_after_commit = false; },
       of([](faults& f) { f.breaks = f.crashes = 1; }), "acknowledged and not stored"},
      {"keep until acknowledged",
       [](rules& r) { r.keep_until_acknowledged = false; },
       {},
       "acknowledged and not stored"},
      {"drop what is stored", [](rules& r) { r.drop_what_is_stored = false; }, breaks,
       "stored twice"},
      {"refuse gaps", [](rules& r) { r.refuse_gaps = false; }, breaks, "stored behind a gap"},
      {"keep to the credit",
       [](rules& r) { r.keep_to_credit = false; },
       {},
       "more under way than there is credit"},
      {"go back at a welcome, after a refusal and after silence",
       [](rules& r) {
         r.go_back_at_welcome = r.go_back_after_refusal = r.go_back_after_silence = false;
       },
       breaks, "no way to the end"},
      {"go back after a refusal and after silence",
       [](rules& r) { r.go_back_after_refusal = r.go_back_after_silence = false; }, errors,
       "no way to the end"},
      {"go back after silence", [](rules& r) { r.go_back_after_silence = false; },
       of([](faults& f) { f.breaks = f.errors = 1; }), "no way to the end"},
      {"store what came early in its turn", [](rules& r) { r.store_early_in_turn = false; },
       of([](faults& f) { f.overtakes = 1; }), "stored behind a gap"},
      {"begin where the hello says", [](rules& r) { r.begin_where_hello_says = false; },
       of([](faults& f) { f.moves = 1; }), "no way to the end"},
      {"answer strangers", [](rules& r) { r.answer_strangers = false; },
       of([](faults& f) { f.forgets = 1; }), "no way to the end"},
      {"count nothing after a gap", [](rules& r) { r.count_nothing_behind_a_gap = false; },
       of([](faults& f) { f.crashes = 1; }), "acknowledged and not stored"},
      {"count what the daemon let go", [](rules& r) { r.count_what_the_daemon_let_go = false; },
       of([](faults& f) { f.rots = 1; }), "stored twice"},
      {"send an empty block for a damaged one", [](rules& r) { r.empty_for_damaged = false; },
       of([](faults& f) { f.damages = 1; }), "no way to the end"},
      {"ask for a hello again", [](rules& r) { r.ask_for_hello_again = false; },
       of([](faults& f) { f.moves = f.restarts = 1; }), "no way to the end"},
      {"believe a welcome about a remainder",
       [](rules& r) { r.believe_welcome_of_remainder = false; },
       of([](faults& f) { f.restarts = 1; }), "no way to the end"},
      {"believe nothing that was not sent", [](rules& r) { r.believe_nothing_unsent = false; },
       of([](faults& f) { f.lies = 1; }), "acknowledged and not stored"},
      {"believe an acknowledgement about a remainder",
       [](rules& r) { r.believe_acknowledgement_of_remainder = false; },
       of([](faults& f) { f.restarts = 1; }), "no way to the end"},
  };
  std::map<std::pair<std::string, std::uint8_t>, std::string> with_all_rules;
  for (const auto& [name, rule, what, found] : all) {
    rules r;
    rule(r);
    const std::uint8_t blocks = r.keep_to_credit ? 2 : 3;
    const auto s = explore(r, what, blocks);
    EXPECT_EQ(s.found().substr(0, std::strlen(found)), found) << name << ": " << s.found();
    const std::string_view which(reinterpret_cast<const char*>(&what), sizeof what);
    const auto [base, is_new] = with_all_rules.try_emplace({std::string(which), blocks});
    if (is_new) base->second = explore({}, what, blocks).found();
    EXPECT_EQ(base->second, "") << name << " is not what was missing";
    std::printf("without \"%s\": %s\n", name, s.found().c_str());
  }
}

} // namespace
} // namespace l3::test::protocol
