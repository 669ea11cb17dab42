// SPDX-License-Identifier: Apache-2.0
// Finds stuck threads. Each watched thread counts its turns, at least one a second even without
// work. A count that does not change for some seconds means that the thread hangs on a device or a
// lock. For one thread, which passes the time.
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

  /// The first thread whose count has not changed for longer than the patience; empty if there is
  /// none.
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
