// SPDX-License-Identifier: Apache-2.0
// Every interleaving of the protocol's steps, within bounds: no state that must not be, and from
// each a way to the end. Then each rule is left out, and something must be found.
#include "tests/transport/output/protocol_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace l3::test::protocol {
namespace {

struct hash {
  std::size_t operator()(const state& s) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&s), sizeof s});
  }
};
struct equal {
  bool operator()(const state& a, const state& b) const {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
};

/// Breadth first, so that what it finds is the shortest way there.
class search {
public:
  search(const rules& r, const faults& f, std::uint8_t blocks) : machine_(r) {
    state first;
    first.blocks = blocks;
    first.left = f;
    add(first, 0, "");
    for (std::uint32_t i = 0; i < states_.size() && found_.empty(); ++i) {
      const state from = *states_[i];
      machine_.successors(from, [&](const char* step, const state& to) {
        const std::uint32_t n = add(to, i, step);
        edges_.emplace_back(n, i);
        const char* const wrong = wrong_with(to);
        if (wrong != nullptr && found_.empty()) found_ = std::string(wrong) + way_to(n);
      });
    }
    if (found_.empty()) find_dead_ends();
  }

  [[nodiscard]] std::size_t states() const { return states_.size(); }
  /// What must not be, and the steps that lead there; empty: nothing.
  [[nodiscard]] const std::string& found() const { return found_; }

private:
  struct origin {
    std::uint32_t from = 0;
    const char* step = "";
  };

  std::uint32_t add(const state& s, std::uint32_t from, const char* step) {
    const auto [at, is_new] = numbers_.try_emplace(s, static_cast<std::uint32_t>(states_.size()));
    if (is_new) {
      states_.push_back(&at->first);
      origins_.push_back({from, step});
    }
    return at->second;
  }

  /// Backwards from the states in which all is done: what is not met cannot get there.
  void find_dead_ends() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<std::uint8_t> met(states_.size(), 0);
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (!states_[i]->finished()) continue;
      met[i] = 1;
      open.push_back(i);
    }
    while (!open.empty()) {
      const std::uint32_t n = open.back();
      open.pop_back();
      auto e = std::lower_bound(edges_.begin(), edges_.end(), std::pair(n, 0U));
      for (; e != edges_.end() && e->first == n; ++e) {
        if (met[e->second] == 0) open.push_back(e->second);
        met[e->second] = 1;
      }
    }
    const auto dead = std::find(met.begin(), met.end(), 0);
    if (dead != met.end())
      found_ = "no way to the end" + way_to(static_cast<std::uint32_t>(dead - met.begin()));
  }

  [[nodiscard]] std::string way_to(std::uint32_t n) const {
    std::string way;
    for (; n != 0; n = origins_[n].from) way = std::string("; ") + origins_[n].step + way;
    return way;
  }

  machine machine_;
  std::unordered_map<state, std::uint32_t, hash, equal> numbers_;
  std::vector<const state*> states_;
  std::vector<origin> origins_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_; // to, from
  std::string found_;
};

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
    const search s({}, what, blocks);
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
      {"forgotten, store error", 3, of([](faults& f) { f.forgets = f.errors = 1; })},
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
      {"begin where the hello says", [](rules& r) { r.begin_where_hello_says = false; },
       of([](faults& f) { f.moves = 1; }), "no way to the end"},
      {"answer strangers", [](rules& r) { r.answer_strangers = false; },
       of([](faults& f) { f.forgets = 1; }), "no way to the end"},
      {"count nothing behind a gap", [](rules& r) { r.count_nothing_behind_a_gap = false; },
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
      {"believe an acknowledgement about a remainder",
       [](rules& r) { r.believe_acknowledgement_of_remainder = false; },
       of([](faults& f) { f.restarts = 1; }), "no way to the end"},
  };
  std::map<std::pair<std::string, std::uint8_t>, std::string> with_all_rules;
  for (const auto& [name, rule, what, found] : all) {
    rules r;
    rule(r);
    const std::uint8_t blocks = r.keep_to_credit ? 2 : 3;
    const search s(r, what, blocks);
    EXPECT_EQ(s.found().substr(0, std::strlen(found)), found) << name << ": " << s.found();
    const std::string_view which(reinterpret_cast<const char*>(&what), sizeof what);
    const auto [base, is_new] = with_all_rules.try_emplace({std::string(which), blocks});
    if (is_new) base->second = search({}, what, blocks).found();
    EXPECT_EQ(base->second, "") << name << " is not what was missing";
    std::printf("without \"%s\": %s\n", name, s.found().c_str());
  }
}

} // namespace
} // namespace l3::test::protocol
