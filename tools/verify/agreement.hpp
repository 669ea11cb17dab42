// SPDX-License-Identifier: Apache-2.0
// Whether the ledgers of replay client, daemon and receiver balance and agree with each other and
// with the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

/// The programs' names in ledgers.
inline constexpr const char* replay_program = "replay";
inline constexpr const char* daemon_program = "koto-l3d";
inline constexpr const char* receive_program = "receive";

/// Two figures that must be equal.
struct agreement {
  std::string what;
  std::uint64_t one = 0;
  std::uint64_t other = 0;

  [[nodiscard]] bool holds() const { return one == other; }
};

/// Sessions of the store that no daemon's ledger names, if there is a ledger: these starts of a
/// daemon were killed, and what they admitted is unknown.
[[nodiscard]] std::size_t sessions_without_ledger(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored);

/// Events that this daemon left on disk, and that later ones delivered.
[[nodiscard]] std::uint64_t delivered_later(std::span<const ledger> ledgers, const ledger& l);

/// Compares input with sent data only if each start of a daemon left its ledger. `came_again`:
/// events that were sent once and admitted by two starts.
[[nodiscard]] std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                                   std::span<const event_index::session> stored,
                                                   std::uint64_t came_again = 0);

} // namespace l3
