// SPDX-License-Identifier: Apache-2.0
// The spills of a run for the ledger and the log: the latest ones as a list, the earlier ones as
// sums. A receive thread adds a spill when it sees its end. Any thread may call.
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
  /// Number of spills in the list: about six hours.
  static constexpr std::size_t most_spills = 4096;
  /// fetch() returns at most this many of the spills that have ended since its last call.
  static constexpr std::size_t most_news = 4;

  void note(const spill_summary& ended);

  struct news {
    std::vector<spill_summary> latest; ///< in order
    std::size_t count = 0;             ///< of all ended spills
  };
  /// The spills that have ended since the last call.
  [[nodiscard]] news fetch();

  [[nodiscard]] std::vector<spill_account> all() const { return latest(most_spills); }
  /// The latest spills, `most` at most, in order.
  [[nodiscard]] std::vector<spill_account> latest(std::size_t most) const;
  [[nodiscard]] earlier_spills_account earlier() const;
  /// The sums over all ended spills.
  [[nodiscard]] earlier_spills_account in_sum() const;

private:
  [[nodiscard]] bool add(const spill_summary& ended);

  mutable std::mutex lock_;
  news new_;
  std::deque<spill_summary> all_;
  earlier_spills_account earlier_;
};

} // namespace l3
