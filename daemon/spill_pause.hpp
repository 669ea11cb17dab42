// SPDX-License-Identifier: Apache-2.0
// Detects pauses of the beam: the event builder is between two spills, and no data have come since.
#pragma once

#include <chrono>
#include <cstdint>

#include "transport/format/time.hpp"

namespace l3 {

class spill_pause {
public:
  /// Call it about twice a second. `between`: see event_builder::between_spills().
  void look(std::uint64_t fragments_seen, bool between, std::uint64_t still_open, time_point now) {
    if (fragments_seen != seen_ || still_open != 0 || !between) quiet_since_ = now;
    seen_ = fragments_seen;
    is_one_ = now - quiet_since_ >= shortest;
  }

  [[nodiscard]] bool is_one() const { return is_one_; }
  /// Whether the pause still lasts, by the counts since the last look.
  [[nodiscard]] bool is_one(std::uint64_t fragments_seen, std::uint64_t still_open) const {
    return is_one_ && fragments_seen == seen_ && still_open == 0;
  }

private:
  static constexpr std::chrono::milliseconds shortest{400};

  std::uint64_t seen_ = 0;
  time_point quiet_since_{};
  bool is_one_ = false;
};

} // namespace l3
