// SPDX-License-Identifier: Apache-2.0
// Settings of the output: blocks, outbox, output link. The config room fills these structs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/units.hpp"

namespace l3 {

struct outbox_settings {
  byte_size memory = mebibytes(256); ///< packed events that wait until the receiver has stored them
  byte_size block = mebibytes(1);    ///< size at which a block is sealed
  std::chrono::nanoseconds block_age = std::chrono::milliseconds(5); ///< or at this age
  codec_id codec = codec_id::koto;                                   ///< of the packed events
};

/// One connection to the receiver.
struct link_way {
  std::string from; ///< local address; empty: chosen by the system
  std::string to;   ///< the receiver

  friend bool operator==(const link_way&, const link_way&) = default;
};
inline constexpr std::size_t most_link_ways = 4;

struct forward_settings {
  std::string to = "tcp://127.0.0.1:42200"; ///< the receiver
  /// Several connections; an empty `to` means the receiver above. Empty: one connection.
  std::vector<link_way> from;
  bit_rate rate{4e9}; ///< of the output link; 0: unlimited
  std::chrono::nanoseconds acknowledge_time_limit =
      std::chrono::seconds(2); ///< time without acknowledgement until blocks are sent again
  std::string secret_key;      ///< file with the daemon's key; empty: no keys
  std::string receiver_key;    ///< file with the receiver's public key
  bool insecure = false;       ///< allows a link without keys to another machine
};

/// The connections of these settings: at least one, each with a `to`.
[[nodiscard]] inline std::vector<link_way> ways_of(const forward_settings& s) {
  std::vector<link_way> ways = s.from;
  if (ways.empty()) ways.emplace_back();
  for (link_way& w : ways)
    if (w.to.empty()) w.to = s.to;
  return ways;
}

/// The configuration key that names the receiver of one of ways_of().
[[nodiscard]] inline std::string key_of(const link_way& way, const forward_settings& s) {
  return way.to == s.to ? "forward.to" : "forward.from";
}

/// A receiver whose name has no address on this machine.
struct unknown_receiver {
  std::string endpoint;
  std::string key; ///< the configuration key that names it
  std::string why; ///< the system's message

  friend bool operator==(const unknown_receiver&, const unknown_receiver&) = default;
};

enum class spool_use : std::uint8_t {
  overflow, ///< blocks for which the outbox has no room
  always,   ///< every block, before it counts as safe
};

struct spool_settings {
  std::string folder = "koto-l3d-spool"; ///< empty: no spool
  spool_use use = spool_use::overflow;
  byte_size size = mebibytes(20'480); ///< limit of all segments together
  byte_size floor = mebibytes(2'048); ///< free space of the file system that is not used
  /// A file of this size, or of a quarter of `size`, is followed by the next one.
  byte_size segment = mebibytes(256);
  bool sync = false; ///< blocks count as on disk only after a flush
};

} // namespace l3
