// SPDX-License-Identifier: Apache-2.0
// Calls of a running replay to its caller.
#pragma once

#include <cstdint>
#include <functional>

namespace l3 {

struct replay_watch {
  /// Asked before every burst or record: true ends the replay.
  std::function<bool()> stop = [] { return false; };
  /// Gets the number of events sent after every event.
  std::function<void(std::uint64_t events)> tell = [](std::uint64_t) {};
};

} // namespace l3
