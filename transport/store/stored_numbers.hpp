// SPDX-License-Identifier: Apache-2.0
// Which blocks of a session a store holds, as far as its daemon has to know. A power cut may have
// left a block whole on the disk and one before it damaged: the daemon still has both, and must not
// be told that the later one is the last that is stored, or it would let the earlier go. Blocks
// behind such damage therefore wait here until nothing before them is missing: because it has come
// again, or because the daemon itself says that it has no need of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace l3 {

class stored_numbers {
public:
  /// The last number up to which nothing is missing, for a daemon whose first block is `first`:
  /// what comes before that one was stored, and perhaps damaged since.
  [[nodiscard]] std::uint64_t last(std::uint64_t first = 0) const {
    const auto behind = waiting_.upper_bound(first);
    return behind == waiting_.begin() ? last_ : std::prev(behind)->second;
  }

  /// Is stored, and so is what comes before it, here or elsewhere.
  void add(std::uint64_t number) {
    last_ = std::max(last_, number);
    while (!waiting_.empty() && waiting_.begin()->first - 1 <= last_) {
      last_ = std::max(last_, waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

  /// The block is stored. It is unknown which blocks the damage before it took away.
  void add_behind_damage(std::uint64_t number) {
    if (number <= last_ || number - 1 == last_) return add(number);
    const auto next = waiting_.upper_bound(number);
    const bool goes_on = next != waiting_.begin() && number - 1 <= std::prev(next)->second;
    const auto here = goes_on ? std::prev(next) : waiting_.emplace_hint(next, number, number);
    here->second = std::max(here->second, number);
    if (next != waiting_.end() && next->first - 1 == here->second) {
      here->second = next->second;
      waiting_.erase(next);
    }
  }

private:
  std::uint64_t last_ = 0;
  /// First and last numbers of stretches, rising, all above last_ + 1. Between two of them a number
  /// is missing.
  std::map<std::uint64_t, std::uint64_t> waiting_;
};

} // namespace l3
