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

/// Sessions of the store that are in no daemon's ledger, if there is one at all: these starts of a
/// daemon were killed. What they admitted nobody knows.
[[nodiscard]] std::size_t sessions_without_ledger(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored);

/// What came in is compared with what was sent only if each start of a daemon left its ledger.
[[nodiscard]] std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                                   std::span<const event_index::session> stored);

} // namespace l3
