// SPDX-License-Identifier: Apache-2.0
// Selects the runs of a store that are compared with the sent data. Spill and event number identify
// an event only within a run: two runs may have different events with the same numbers.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "tools/verify/objections.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

/// The `named` runs; else those of the daemons whose ledgers are given; else all, unless several
/// have events with the same numbers. Throws std::runtime_error in that case, and if a named run is
/// not stored.
[[nodiscard]] std::set<std::uint32_t> runs_to_compare(std::span<const std::uint32_t> named,
                                                      std::span<const given_ledger> ledgers,
                                                      const event_index& stored);

/// "run 3", "runs 3, 4 and 7"; "no run".
[[nodiscard]] std::string words_of(const std::set<std::uint32_t>& runs);

} // namespace l3
