// SPDX-License-Identifier: Apache-2.0
// The spills of a run for the ledger. A receive thread that sees a spill's end notes it here; one
// thread fetches the new ones, logs them, and keeps the list.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/building/spill_table.hpp"

namespace l3 {

class spill_list {
public:
  /// Any thread.
  void note(const spill_summary& ended);

  // For one thread.

  /// Moves the spills noted since the last call to the list, and returns them in order.
  [[nodiscard]] std::vector<spill_summary> fetch();
  [[nodiscard]] const std::vector<spill_account>& all() const { return all_; }

private:
  void add(const spill_summary& ended);

  std::mutex lock_;
  std::vector<spill_summary> new_;
  std::vector<spill_account> all_;
};

} // namespace l3
