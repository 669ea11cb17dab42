// SPDX-License-Identifier: Apache-2.0
// Whether the ledgers of replay client, daemon and receiver balance, agree with each other, and
// with the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/output/event_index.hpp"

namespace l3 {

/// One thing that must hold: two figures that must be the same.
struct agreement {
  std::string what;
  std::uint64_t one = 0;
  std::uint64_t other = 0;

  [[nodiscard]] bool holds() const { return one == other; }
};

[[nodiscard]] std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                                   std::span<const event_index::session> stored);

} // namespace l3
