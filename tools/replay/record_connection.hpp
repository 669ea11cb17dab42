// SPDX-License-Identifier: Apache-2.0
// The sender's end of a record stream: writes records as far as the connection accepts them, and
// reads the daemon's answers. Only the constructor waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "tools/replay/destination.hpp"
#include "transport/format/record.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class record_connection {
public:
  /// Connects. Throws std::system_error if that fails within the time limit.
  record_connection(const destination& to, const socket_address& address,
                    std::chrono::milliseconds time_limit);

  /// Begins a record after the previous one is done. The body must live until this one is done.
  void begin(const record_header& header, std::span<const std::byte> body);
  [[nodiscard]] bool done() const { return header_left_.empty() && body_left_.empty(); }

  /// Writes and reads as much as possible. Returns false if the connection is broken.
  [[nodiscard]] bool move_on();
  /// For poll(): readable, or writable if a record is not done.
  [[nodiscard]] pollfd awaited() const;

  /// The last record such that it and all earlier ones are safe; 0 if none is acknowledged.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  /// Events among those records that the daemon had already taken, over any connection.
  [[nodiscard]] std::uint64_t known() const { return known_; }
  /// Not empty if the daemon refused, or answered with something else than records.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Whether only records came. Otherwise the peer is no daemon.
  [[nodiscard]] bool makes_sense() const { return makes_sense_; }
  /// Whether it refused because of its connection limit, which may change soon.
  [[nodiscard]] bool turned_away() const { return turned_away_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_; }

private:
  bool write();
  bool read();
  bool take_records();

  file_descriptor socket_;
  record_header header_; // of the current record
  std::span<const std::byte> header_left_;
  std::span<const std::byte> body_left_;
  std::vector<std::byte> received_;
  std::size_t received_bytes_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t known_ = 0;
  std::uint64_t bytes_ = 0;
  std::string refusal_;
  bool makes_sense_ = true;
  bool turned_away_ = false;
};

} // namespace l3
