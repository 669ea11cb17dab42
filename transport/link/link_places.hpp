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
  /// Of monitoring there are 129 at most, of the store and the program itself less than 64.
  static constexpr rlim_t of_others = 320;
  static constexpr rlim_t fewest_descriptors = 512;
  static constexpr std::size_t most_connections = 1024; ///< when nobody comes

  int first_of_watch = 4 * most_connections;
  /// Beyond, the oldest without a hello makes way: fewer than there are places, so that the next
  /// one finds one.
  std::size_t connections = most_connections;

  [[nodiscard]] static rlim_t descriptors() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
  }
  [[nodiscard]] static link_places of(rlim_t descriptors) {
    constexpr rlim_t fewest = (fewest_descriptors - of_others) / 2;
    const rlim_t places = std::max((descriptors - std::min(descriptors, of_others)) / 2, fewest);
    link_places p;
    p.first_of_watch = static_cast<int>(std::min<rlim_t>(places, 4 * most_connections));
    p.connections = std::min<std::size_t>(places * 2 / 3, most_connections);
    return p;
  }
};

} // namespace l3
