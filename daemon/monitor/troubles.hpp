// SPDX-License-Identifier: Apache-2.0
// The daemon's table of troubles. Each kind compares two consecutive snapshots, which are half a
// second apart, and says what is wrong. Nothing else watches the counters.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/trouble.hpp"

namespace l3 {

/// In the order in which equally urgent troubles are listed.
[[nodiscard]] std::span<const trouble_kind<metrics_snapshot>> daemon_troubles();

/// "receiving", "receiving; critical: nothing_admitted shedding".
[[nodiscard]] std::string state_text(const metrics_snapshot& s);

/// Adds the troubles to snapshots, and logs them. For one thread.
class trouble_watch {
public:
  static constexpr std::size_t most_changes = 20;

  /// Call it twice a second. `wall`: s since 1970-01-01 UTC.
  void look(metrics_snapshot& s, time_point now, double wall);

private:
  trouble_board board_{rows_of(daemon_troubles())};
  metrics_snapshot before_;
  std::deque<state_change> changes_;
};

} // namespace l3
