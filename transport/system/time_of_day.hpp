// SPDX-License-Identifier: Apache-2.0
// The time of day, which people and other machines understand, and which may jump. Nothing waits
// by it: transport/format/time.hpp.
#pragma once

#include <chrono>
#include <cstdint>

namespace l3 {

/// UTC; 0 where the clock of this machine is before that year.
[[nodiscard]] inline std::uint64_t nanoseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return nanoseconds < 0 ? 0 : static_cast<std::uint64_t>(nanoseconds);
}

} // namespace l3
