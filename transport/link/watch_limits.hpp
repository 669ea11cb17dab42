// SPDX-License-Identifier: Apache-2.0
// How much the peers of a ZeroMQ socket may make a program hold, and what connection_watch counts.
#pragma once

#include <cstddef>

#include "transport/accounting/counters.hpp"
#include "transport/format/units.hpp"

namespace l3 {

struct watch_limits {
  byte_size stranger;           ///< not yet a whole message, of a connection that is not trusted
  byte_size trusted;            ///< the same of one that is
  byte_size memory;             ///< of the whole program; 0: it is not looked at
  std::size_t connections = 16; ///< at a time
  std::size_t of_a_peer = 16;   ///< of these, trusted ones of one peer
  int first_descriptor = 0;     ///< the watch's own of connections have numbers from here on
};

/// Written by the watch's thread.
struct watch_counters {
  counter oversized; ///< connections that were shut down because too much of a message had come
  counter crowded;   ///< connections that made way or were not taken: there were too many
};

} // namespace l3
