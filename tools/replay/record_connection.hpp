// SPDX-License-Identifier: Apache-2.0
// The sender's end of a record stream: writes records as far as the connection takes them, reads
// what the daemon answers. It never blocks but in wait().
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

  /// Writes what the connection takes of the record, and reads what came. False: the connection is
  /// broken.
  [[nodiscard]] bool move_on();
  /// Until something can be read, or also written if a record is not done, or the time is over.
  void wait(std::chrono::nanoseconds time) const;

  /// Up to which sequence number all is safe, as said last on this connection; 0: nothing was said.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  /// Not empty: the daemon refused, or does not talk our language.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// The refusal may be over soon: the daemon has no place left.
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
  std::uint64_t bytes_ = 0;
  std::string refusal_;
  bool turned_away_ = false;
};

} // namespace l3
