// SPDX-License-Identifier: Apache-2.0
// What a running replay asks of its caller now and then.
#pragma once

#include <cstdint>
#include <functional>

namespace l3 {

struct replay_watch {
  /// Asked before every burst or record: true ends the replay.
  std::function<bool()> stop = [] { return false; };
  /// Told after every event how many were sent.
  std::function<void(std::uint64_t events)> tell = [](std::uint64_t) {};
};

} // namespace l3
