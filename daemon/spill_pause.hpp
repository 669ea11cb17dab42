// SPDX-License-Identifier: Apache-2.0
// Detects pauses of the beam: a spill has ended, and no data have come since. Where senders do not
// mark the end of a spill, ten seconds of silence are a pause.
#pragma once

#include <chrono>
#include <cstdint>

#include "transport/format/time.hpp"

namespace l3 {

class spill_pause {
public:
  /// Call it about twice a second with the current counts.
  void look(std::uint64_t fragments_seen, bool a_spill_ended, std::uint64_t still_open,
            time_point now) {
    const bool came = fragments_seen != seen_;
    if (came || still_open != 0) quiet_since_ = now;
    if (came) spill_over_ = false;
    if (a_spill_ended) spill_over_ = true;
    seen_ = fragments_seen;
    const auto quiet = now - quiet_since_;
    is_one_ = quiet >= (spill_over_ ? after_a_spill : without_an_end);
  }

  [[nodiscard]] bool is_one() const { return is_one_; }
  /// Whether the pause still lasts, by the counts since the last look.
  [[nodiscard]] bool is_one(std::uint64_t fragments_seen, std::uint64_t still_open) const {
    return is_one_ && fragments_seen == seen_ && still_open == 0;
  }

private:
  static constexpr std::chrono::milliseconds after_a_spill{400};
  static constexpr std::chrono::seconds without_an_end{10};

  std::uint64_t seen_ = 0;
  time_point quiet_since_{};
  bool spill_over_ = false;
  bool is_one_ = false;
};

} // namespace l3
