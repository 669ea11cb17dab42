// SPDX-License-Identifier: Apache-2.0
// A point in time, for every deadline, age and latency. Its clock is monotonic and has no date, so
// a time_point is meaningless on another machine or after the next boot. A duration is
// std::chrono::nanoseconds. Formats and tables with integer times convert only here.
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace l3 {

using std::chrono::steady_clock;
using time_point = steady_clock::time_point;
static_assert(std::is_same_v<time_point::duration, std::chrono::nanoseconds>);

/// A deadline that never comes.
inline constexpr time_point never = time_point::max();

[[nodiscard]] constexpr std::uint64_t whole_nanoseconds(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

[[nodiscard]] constexpr double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// A point in time in the tables of a batch: ns since the clock's epoch.
[[nodiscard]] constexpr std::uint64_t to_table(time_point t) {
  return whole_nanoseconds(t.time_since_epoch());
}
[[nodiscard]] constexpr time_point from_table(std::uint64_t nanoseconds) {
  return time_point(std::chrono::nanoseconds(nanoseconds));
}

// The time of day, for people and other machines. It may jump, so nothing waits by it:
// transport/format/time.hpp.

/// UTC; 0 if the machine's clock is before 1970.
[[nodiscard]] inline std::uint64_t nanoseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return nanoseconds < 0 ? 0 : static_cast<std::uint64_t>(nanoseconds);
}

} // namespace l3
