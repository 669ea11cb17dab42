// SPDX-License-Identifier: Apache-2.0
// The sender's end of a record stream: writes records as far as the connection takes them, and
// reads the daemon's answers. Only the constructor waits.
#pragma once

#include <array>
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
  /// Connects. Throws std::system_error if that fails within the time.
  record_connection(const destination& to, const socket_address& address,
                    std::chrono::milliseconds time_limit);

  /// Begins a record; the one before must be done. The body must live until then.
  void begin(const record_header& header, std::span<const std::byte> body);
  [[nodiscard]] bool done() const { return header_left_.empty() && body_left_.empty(); }

  /// Writes and reads as much as the connection allows. False: it is broken.
  [[nodiscard]] bool move_on();
  /// For poll(): the socket can be read, or written if a record is not done.
  [[nodiscard]] pollfd awaited() const;

  /// The sequence number up to which all records are safe; 0: none was acknowledged yet.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  /// Events among those records that the daemon had taken before, over any connection.
  [[nodiscard]] std::uint64_t known() const { return known_; }
  /// Not empty if the daemon refused, or answered with something else than records.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Whether all that came were records. If not, the other end is no daemon.
  [[nodiscard]] bool makes_sense() const { return makes_sense_; }
  /// Whether it refused because no place is left, which may be over soon.
  [[nodiscard]] bool turned_away() const { return turned_away_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_; }

private:
  bool write();
  bool read();
  bool take_records();

  file_descriptor socket_;
  record_header header_; // of the record being sent
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
