// SPDX-License-Identifier: Apache-2.0
// Which numbers of a session's blocks were found: stretches of them, so that a million blocks that
// follow each other take the room of one.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace l3 {

class number_set {
public:
  /// False: it was there.
  bool add(std::uint64_t number) {
    const auto next = stretches_.upper_bound(number);
    const bool is_behind = next != stretches_.begin();
    if (is_behind && number <= std::prev(next)->second) return false;
    const bool goes_on = is_behind && number - 1 == std::prev(next)->second;
    const auto here = goes_on ? std::prev(next) : stretches_.emplace_hint(next, number, number);
    here->second = number;
    if (next != stretches_.end() && next->first - 1 == number) {
      here->second = next->second;
      stretches_.erase(next);
    }
    return true;
  }

  /// The lowest number from this one on that is not there.
  [[nodiscard]] std::uint64_t first_missing(std::uint64_t from) const {
    const auto next = stretches_.upper_bound(from);
    const bool has = next != stretches_.begin() && from <= std::prev(next)->second;
    return has ? std::prev(next)->second + 1 : from;
  }
  /// The highest one up to it.
  [[nodiscard]] std::uint64_t last_missing(std::uint64_t to) const {
    const auto next = stretches_.upper_bound(to);
    const bool has = next != stretches_.begin() && to <= std::prev(next)->second;
    return has ? std::prev(next)->first - 1 : to;
  }

private:
  std::map<std::uint64_t, std::uint64_t> stretches_; ///< first and last
};

} // namespace l3
