// SPDX-License-Identifier: Apache-2.0
#include "transport/output/block_builder.hpp"

#include <chrono>
#include <random>

namespace l3 {

std::uint64_t random_session() {
  std::random_device source;
  std::uint64_t session = 0;
  while (session == 0) session = std::uint64_t{source()} << 32 | source();
  return session;
}

std::uint64_t wall_clock_now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

} // namespace l3
