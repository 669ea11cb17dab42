// SPDX-License-Identifier: Apache-2.0
// Finds stuck threads. Each watched thread counts its turns, at least one a second even without
// work. A count that does not change for five seconds means that the thread hangs on a device or a
// lock. Two seconds are enough where work is seen to wait. The time in which this watch itself was
// stopped does not count. For one thread, which passes the time.
#pragma once

#include <algorithm>
#include <chrono>
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
  static constexpr std::chrono::seconds patience{5};
  static constexpr std::chrono::seconds patience_with_work{2};

  /// `waits`: whether work waits for the thread; asked only while it makes no turns.
  void add(
      std::string name, std::function<std::uint64_t()> turns,
      std::function<bool()> waits = [] { return false; }) {
    watched_.push_back({std::move(name), std::move(turns), std::move(waits)});
  }

  /// The name of the first stuck thread, or an empty string. Call it twice a second.
  [[nodiscard]] std::string stuck(time_point now) {
    constexpr std::chrono::nanoseconds longest = std::chrono::seconds(1);
    const auto passed = std::min(looked_at_ ? now - *looked_at_ : longest, longest);
    looked_at_ = now;
    std::string found;
    for (watched& w : watched_) {
      const std::uint64_t turns = w.turns();
      const bool moved = std::exchange(w.seen, turns) != turns;
      w.still_for = moved ? std::chrono::nanoseconds() : w.still_for + passed;
      w.waited_for = !moved && w.waits() ? w.waited_for + passed : std::chrono::nanoseconds();
      if (found.empty() && (w.still_for > patience || w.waited_for > patience_with_work))
        found = w.name;
    }
    return found;
  }

private:
  struct watched {
    std::string name;
    std::function<std::uint64_t()> turns;
    std::function<bool()> waits;
    std::optional<std::uint64_t> seen{};
    std::chrono::nanoseconds still_for{};
    std::chrono::nanoseconds waited_for{};
  };

  std::vector<watched> watched_;
  std::optional<time_point> looked_at_;
};

} // namespace l3
