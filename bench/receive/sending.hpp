// SPDX-License-Identifier: Apache-2.0
// Sends datagrams from memory to ports of this machine in turn, at a steady rate or as fast as
// possible.
#pragma once

#include <cstdint>
#include <span>

#include "bench/building/traffic.hpp"

namespace l3::bench {

/// CPU time in seconds.
struct cpu_time {
  double user = 0;
  double system = 0;

  [[nodiscard]] double sum() const { return user + system; }
  cpu_time& operator-=(const cpu_time& other);
};
[[nodiscard]] cpu_time cpu_of_thread();  ///< of the calling thread
[[nodiscard]] cpu_time cpu_of_process(); ///< of all threads of the process

struct sent_traffic {
  std::uint64_t datagrams = 0;
  std::uint64_t bytes = 0; ///< including headers
  double seconds = 0;
  cpu_time cpu; ///< of the sending thread
};

/// `bytes_per_second` = 0: as fast as possible. Throws std::system_error.
[[nodiscard]] sent_traffic send(const traffic& t, std::span<const std::uint16_t> ports,
                                double bytes_per_second);

} // namespace l3::bench
