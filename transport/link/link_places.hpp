// SPDX-License-Identifier: Apache-2.0
// How a receiver divides the descriptors that it may have. ZeroMQ accepts connections faster than
// the watch shuts them down, and accept() takes the lowest number that is free. So a number tells
// whether there is a place: below `first_of_watch` are connections, from there on as many
// duplicates of them for the watch, and the rest stays for store, ledger and monitoring, however
// many strangers come at once. The limit is asked for each time, because it may be changed.
#pragma once

#include <algorithm>
#include <cstddef>

#include <sys/resource.h>

namespace l3 {

struct link_places {
  /// Beside the watch's, whatever their numbers: of monitoring 129 at most, of the store and the
  /// program itself less than 63. They may have been opened before any connection.
  static constexpr int of_program = 192;
  static constexpr rlim_t of_others = 320;
  static constexpr rlim_t fewest_descriptors = 1024;
  static constexpr std::size_t most_connections = 1024; ///< when no more come

  int first_of_watch = 4 * most_connections;
  /// Beyond, the oldest without a hello makes way: there are as many places whatever the program
  /// has opened.
  std::size_t connections = most_connections;

  [[nodiscard]] static rlim_t descriptors() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
  }
  [[nodiscard]] static link_places of(rlim_t descriptors) {
    const rlim_t half = (std::max(descriptors, fewest_descriptors) - of_others) / 2;
    link_places p;
    p.first_of_watch = static_cast<int>(std::min<rlim_t>(half, 4 * most_connections));
    p.connections =
        std::min(static_cast<std::size_t>(p.first_of_watch - of_program), most_connections);
    return p;
  }
};

} // namespace l3
