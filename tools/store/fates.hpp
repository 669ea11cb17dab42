// SPDX-License-Identifier: Apache-2.0
// What the ledgers of the daemons say of the events that are not in the store, so that a count of
// missing ones has its reason beside it. They also say which events came to two starts of a daemon:
// a sender over TCP sends once more whatever it was not told to be safe, which is no disagreement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tools/store/comparison.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

struct event_fates {
  // Of those that are not stored, by the ledgers.
  std::uint64_t shed = 0;     ///< and did not come again
  std::uint64_t rejected = 0; ///< 0 if the selection is given: then they are not missing
  std::uint64_t left = 0;     ///< on disk or under way when the daemon ended, not delivered since
  std::uint64_t unknown = 0;  ///< missing, and none of these
  // Of those that were sent to one start of a daemon, and again to another.
  std::uint64_t shed_and_again = 0; ///< shed(drain): the sender had not been told otherwise
  std::uint64_t stored_and_again = 0;

  [[nodiscard]] std::uint64_t came_again() const { return shed_and_again + stored_and_again; }
};

/// Nothing without a daemon's ledger. That events came again is believed only where it explains
/// exactly how many more were admitted than sent, and how many fewer are missing than lost.
/// `selected`: the comparison knows what the selection rejects.
[[nodiscard]] std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored,
                                                  const comparison& compared, bool selected);

} // namespace l3
