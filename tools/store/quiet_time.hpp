// SPDX-License-Identifier: Apache-2.0
// When the receiver writes its ledger while it runs: once after each stretch in which blocks came,
// when none has come for a while. Only blocks count: a daemon that has nothing to send still makes
// itself heard every second.
#pragma once

#include <cstdint>

#include "transport/format/time.hpp"

namespace l3 {

class quiet_time {
public:
  quiet_time(std::chrono::nanoseconds length, time_point now) : length_(length), since_(now) {}

  /// `blocks`: how many have come so far. True once when none has come for the whole length; the
  /// first time also if there was none at all.
  [[nodiscard]] bool over(std::uint64_t blocks, time_point now) {
    if (blocks != blocks_) {
      blocks_ = blocks;
      since_ = now;
      told_ = false;
    }
    if (told_ || now <= since_ + length_) return false;
    return told_ = true;
  }

private:
  std::chrono::nanoseconds length_;
  time_point since_;
  std::uint64_t blocks_ = 0;
  bool told_ = false;
};

} // namespace l3
