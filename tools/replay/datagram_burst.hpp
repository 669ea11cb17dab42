// SPDX-License-Identifier: Apache-2.0
// Sends a few datagrams in one system call, with payloads directly from the caller's memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/replay/destination.hpp"
#include "transport/format/l2.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class datagram_burst {
public:
  static constexpr std::size_t capacity = 64;

  /// The reaction to an unreachable destination: send() throws, or refused() counts.
  enum class failure : std::uint8_t { throws, counts };
  /// Smooth: a few datagrams, which fit a receiver's sockets, without checksum, like the
  /// electronics. Fast: more, and those of a port go to the kernel as one message that it cuts
  /// (UDP_SEGMENT), which needs checksums.
  enum class style : std::uint8_t { smooth, fast };

  /// Throws std::runtime_error if the destination is unknown.
  explicit datagram_burst(const destination& to, failure on_failure = failure::throws,
                          style how = style::smooth);

  [[nodiscard]] const destination& to() const { return to_; }

  /// The payload must live until the burst is sent. Uses the destination's ports in turn.
  void add(const l2::datagram_header& header, std::span<const std::byte> payload);
  /// Skips the next datagram and its port's turn.
  void leave_out() { turn(); }
  /// Sends the last datagram twice, to the same port.
  void repeat_last();

  [[nodiscard]] bool full() const { return used_ == limit_; }
  [[nodiscard]] bool empty() const { return used_ == 0; }
  /// Sends all. Throws std::runtime_error on a network error.
  void send();

  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_; }

  /// Asks the system whether datagrams met a closed port; refused() counts them. Errors from
  /// another machine take a while.
  void take_errors();
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint16_t refused_port() const { return refused_port_; } ///< the first one
  /// Why the destination was unreachable, in the system's words; empty if it was reachable.
  [[nodiscard]] const std::string& no_way() const { return no_way_; }

private:
  struct datagram {
    std::array<std::byte, l2::datagram_header_bytes> header;
    std::span<const std::byte> payload;
    std::size_t port = 0;

    [[nodiscard]] std::size_t bytes() const { return header.size() + payload.size(); }
  };
  struct messages;
  std::size_t turn();
  void sort_by_port();
  void prepare(messages& next, std::size_t from);

  file_descriptor socket_;
  destination to_;
  std::vector<socket_address> addresses_; // one per port
  std::array<datagram, capacity> datagrams_{};
  std::size_t used_ = 0;
  std::size_t limit_;
  bool segments_; // the kernel cuts messages
  std::size_t next_port_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
  std::uint16_t refused_port_ = 0;
  failure on_failure_;
  std::string no_way_;
};

} // namespace l3
