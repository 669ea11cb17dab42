// SPDX-License-Identifier: Apache-2.0
// The spills of a run, as the ledger lists them. A receive thread that notices a spill's end notes
// it here and goes on; one thread fetches what is new, says so in the log, and keeps the list.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/input/spill_table.hpp"

namespace l3 {

class spill_list {
public:
  /// Any thread.
  void note(const spill_summary& ended);

  // One thread, the same for both.

  /// Those noted since the last call, in order; now they are in the list.
  [[nodiscard]] std::vector<spill_summary> fetch();
  [[nodiscard]] const std::vector<spill_account>& all() const { return all_; }

private:
  void add(const spill_summary& ended);

  std::mutex lock_;
  std::vector<spill_summary> new_;
  std::vector<spill_account> all_;
};

} // namespace l3
