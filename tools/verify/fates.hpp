// SPDX-License-Identifier: Apache-2.0
// Why events are missing in the store, according to the daemons' ledgers. They also show which
// events came to two starts of a daemon: a TCP sender repeats unacknowledged events, which is no
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
  // Missing events.
  std::uint64_t shed = 0;       ///< and not sent again
  std::uint64_t rejected = 0;   ///< 0 with a given selection: they are not missing then
  std::uint64_t left = 0;       ///< on disk or in flight at the daemon's end, not delivered since
  std::uint64_t incomplete = 0; ///< not admitted: a crate's fragment was missing or malformed
  std::uint64_t unknown = 0;    ///< for no known reason
  // Events that were sent to one start of a daemon, and again to another.
  std::uint64_t shed_and_again = 0; ///< shed(drain), so not acknowledged
  std::uint64_t stored_and_again = 0;

  [[nodiscard]] std::uint64_t came_again() const { return shed_and_again + stored_and_again; }
};

/// Nothing without a daemon's ledger. Events count as repeated only if that explains exactly the
/// excess of admitted over sent events, and of lost over missing ones. `selected`: the comparison
/// knows the selection's rejections.
[[nodiscard]] std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored,
                                                  const comparison& compared, bool selected);

} // namespace l3
