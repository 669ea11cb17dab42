// SPDX-License-Identifier: Apache-2.0
// Publishes samples of stored events, at most so many a second of each trigger line
// (docs/formats.md, section 17). The storing thread calls all members. It never waits: messages for
// a subscriber that reads too slowly are dropped. The socket has an I/O thread of its own, so
// subscribers take no time from the output link.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "transport/format/block.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"

namespace l3 {

class event_publisher {
public:
  /// Stands for a line in events that no line kept.
  static constexpr const char* no_line = "(no line)";
  /// Enough for ten slow subscribers of events with all waveforms, and the settings of all
  /// sessions.
  static constexpr byte_size memory = mebibytes(96);

  /// `rate`: events of a line in a second. Throws zmq::error_t if the address cannot be bound, and
  /// std::runtime_error if it cannot be looked up.
  event_publisher(const std::string& bind, std::uint32_t rate);

  /// Copies the events of a whole, checked block whose lines are due. It ignores a session until a
  /// block with settings has come.
  void sample(std::span<const std::byte> block, const block_header& header, time_point now);
  /// Sends the samples. Call it when their blocks are stored.
  void publish();
  /// Drops the samples, because their blocks were not stored.
  void discard() { samples_.clear(); }

  [[nodiscard]] std::string endpoint() const; ///< with the bound port
  /// Number of published events by line.
  [[nodiscard]] std::map<std::string, std::uint64_t> published() const;

private:
  struct line_state {
    time_point due{};
    std::uint64_t published = 0;
  };
  using line = std::map<std::string, line_state>::value_type;
  struct session_state {
    std::vector<line*> lines; ///< by bit
    zmq::message_t settings;
    time_point used_at{};
  };
  struct sampled_event {
    std::vector<line*> lines; ///< that were due
    zmq::message_t settings;
    zmq::message_t event;
  };

  [[nodiscard]] session_state* find_session(std::span<const std::byte> entries,
                                            const block_header& header, time_point now);

  const std::uint64_t mark_ = std::random_device()(); ///< identifies this publisher
  const std::chrono::nanoseconds interval_;
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::pub};
  std::map<std::string, line_state> lines_; ///< with stable addresses
  std::map<std::uint64_t, session_state> sessions_;
  std::vector<sampled_event> samples_; ///< of blocks that are not stored yet
};

} // namespace l3
