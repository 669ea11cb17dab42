// SPDX-License-Identifier: Apache-2.0
// The time of day, for people and other machines. It may jump, so nothing waits by it:
// transport/format/time.hpp.
#pragma once

#include <chrono>
#include <cstdint>

namespace l3 {

/// UTC; 0 if the machine's clock is before 1970.
[[nodiscard]] inline std::uint64_t nanoseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return nanoseconds < 0 ? 0 : static_cast<std::uint64_t>(nanoseconds);
}

} // namespace l3
