// SPDX-License-Identifier: Apache-2.0
// Decides when the running receiver writes its ledger: once after each burst of blocks, when none
// has come for a while. Heartbeats, which an idle daemon sends every second, do not count.
#pragma once

#include <cstdint>

#include "transport/format/time.hpp"

namespace l3 {

class quiet_time {
public:
  quiet_time(std::chrono::nanoseconds length, time_point now) : length_(length), since_(now) {}

  /// `blocks`: number of blocks so far. Returns true once when no block has come for the whole
  /// length; the first time also before any block.
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
