// SPDX-License-Identifier: Apache-2.0
// Goes through all that a small machine can do, breadth first, so that what it finds is the
// shortest way there: a state that must not be, or one from which no way leads to the end. A state
// is a few bytes without padding and says itself what may still go wrong (`left`), whether it
// is wrong (`wrong_with`), and whether all is done (`finished`); the machine gives every step that
// any part may take next. Faults end some day, so the way to the end must not need one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace l3::test {

template <class State>
using visit_step = std::function<void(const char* step, const State&)>;

template <class State, class Machine>
class state_search {
  static_assert(std::has_unique_object_representations_v<State>);

public:
  state_search(const Machine& machine, const State& first) {
    add(first, 0, "");
    for (std::uint32_t i = 0; i < states_.size() && found_.empty(); ++i) {
      const State from = *states_[i];
      machine.successors(from, [&](const char* step, const State& to) {
        const std::uint32_t n = add(to, i, step);
        if (std::memcmp(&from.left, &to.left, sizeof from.left) == 0) edges_.emplace_back(n, i);
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
  struct hash {
    std::size_t operator()(const State& s) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(&s), sizeof s});
    }
  };
  struct equal {
    bool operator()(const State& a, const State& b) const {
      return std::memcmp(&a, &b, sizeof a) == 0;
    }
  };
  struct origin {
    std::uint32_t from = 0;
    const char* step = "";
  };

  std::uint32_t add(const State& s, std::uint32_t from, const char* step) {
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

  std::unordered_map<State, std::uint32_t, hash, equal> numbers_;
  std::vector<const State*> states_;
  std::vector<origin> origins_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_; // to, from; faults are none
  std::string found_;
};

} // namespace l3::test
