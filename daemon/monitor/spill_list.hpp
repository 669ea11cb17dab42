// SPDX-License-Identifier: Apache-2.0
// The spills of a run for the ledger and the log: the latest one by one, all before them in sums. A
// receive thread that sees a spill's end notes it here. Any thread may call.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/building/spill_table.hpp"

namespace l3 {

class spill_list {
public:
  /// Spills that are listed one by one: some six hours of them.
  static constexpr std::size_t most_spills = 4096;
  /// Of those that have ended since the last call of fetch(), as many are returned.
  static constexpr std::size_t most_news = 4;

  void note(const spill_summary& ended);

  struct news {
    std::vector<spill_summary> latest; ///< in order
    std::size_t count = 0;             ///< of all that ended
  };
  /// The spills that have ended since the last call.
  [[nodiscard]] news fetch();

  [[nodiscard]] std::vector<spill_account> all() const { return latest(most_spills); }
  /// The last of them, so many at most, in order.
  [[nodiscard]] std::vector<spill_account> latest(std::size_t most) const;
  [[nodiscard]] earlier_spills_account earlier() const;
  /// All that have ended.
  [[nodiscard]] earlier_spills_account in_sum() const;

private:
  [[nodiscard]] bool add(const spill_summary& ended);

  mutable std::mutex lock_;
  news new_;
  std::deque<spill_summary> all_;
  earlier_spills_account earlier_;
};

} // namespace l3
