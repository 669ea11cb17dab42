// SPDX-License-Identifier: Apache-2.0
// Why events are not in the store, by the daemons' ledgers. The ledgers also tell which events came
// to two starts of a daemon: a sender over TCP sends unacknowledged events again, which is no
// disagreement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tools/verify/comparison.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

struct event_fates {
  // Events that are not stored.
  std::uint64_t shed = 0;       ///< and not sent again
  std::uint64_t rejected = 0;   ///< 0 if the selection is given: then they are not missing
  std::uint64_t left = 0;       ///< on disk or under way when the daemon ended, not delivered since
  std::uint64_t incomplete = 0; ///< not admitted: a crate's fragment lacked, or was malformed
  std::uint64_t unknown = 0;    ///< missing for no known reason
  // Events that were sent to one start of a daemon, and again to another.
  std::uint64_t shed_and_again = 0; ///< shed(drain), so not acknowledged
  std::uint64_t stored_and_again = 0;

  [[nodiscard]] std::uint64_t came_again() const { return shed_and_again + stored_and_again; }
};

/// Nothing without a daemon's ledger. Events count as sent again only if that explains exactly how
/// many more were admitted than sent, and how many fewer are missing than lost. `selected`: the
/// comparison knows what the selection rejects.
[[nodiscard]] std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored,
                                                  const comparison& compared, bool selected);

} // namespace l3
