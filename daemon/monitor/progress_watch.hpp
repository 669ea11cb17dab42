// SPDX-License-Identifier: Apache-2.0
// Finds threads that are stuck. Each watched thread counts its turns, at least one a second even
// without work; a count that has not moved for some seconds names a thread that hangs, on a device
// or on a lock. For one thread, which hands in the time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/format/time.hpp"

namespace l3 {

class progress_watch {
public:
  explicit progress_watch(std::chrono::nanoseconds patience) : patience_(patience) {}

  void add(std::string name, std::function<std::uint64_t()> turns) {
    watched_.push_back({std::move(name), std::move(turns), 0, {}});
  }

  /// The first thread whose count has not moved for longer than the patience; empty if all move.
  [[nodiscard]] std::string stuck(time_point now) {
    std::string found;
    for (watched& w : watched_) {
      const std::uint64_t turns = w.turns();
      if (turns != w.seen || !w.moved_at) {
        w.seen = turns;
        w.moved_at = now;
      } else if (found.empty() && now - *w.moved_at > patience_) {
        found = w.name;
      }
    }
    return found;
  }

private:
  struct watched {
    std::string name;
    std::function<std::uint64_t()> turns;
    std::uint64_t seen;
    std::optional<time_point> moved_at;
  };

  std::chrono::nanoseconds patience_;
  std::vector<watched> watched_;
};

} // namespace l3
