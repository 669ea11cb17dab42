// SPDX-License-Identifier: Apache-2.0
// A few datagrams that leave in one system call, their payloads straight from the caller's memory.
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
  static constexpr std::size_t capacity = 16; ///< few, so that a receiver's sockets hold them

  /// What a way that is gone does: send() throws, or refused() counts its datagrams.
  enum class failure : std::uint8_t { throws, counts };

  /// Throws std::runtime_error if the destination is not known.
  explicit datagram_burst(const destination& to, failure on_failure = failure::throws);

  [[nodiscard]] const destination& to() const { return to_; }

  /// The payload must live until the burst is sent. The destination's ports take turns.
  void add(const l2::datagram_header& header, std::span<const std::byte> payload);
  /// Leaves the next datagram out; its port's turn passes.
  void leave_out() { turn(); }
  /// Sends the datagram added last twice, to the same port.
  void repeat_last();

  [[nodiscard]] bool full() const { return used_ == capacity; }
  [[nodiscard]] bool empty() const { return used_ == 0; }
  /// Sends all. Throws std::runtime_error on an error of the network.
  void send();

  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_; }

  /// Asks the system whether datagrams met a closed port; refused() counts them. From another
  /// machine the answer takes a while.
  void take_errors();
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint16_t refused_port() const { return refused_port_; } ///< the first one
  /// Why there was no way, in the words of the system; empty: there was one.
  [[nodiscard]] const std::string& no_way() const { return no_way_; }

private:
  struct datagram {
    std::array<std::byte, l2::datagram_header_bytes> header;
    std::span<const std::byte> payload;
    std::size_t port = 0;
  };
  std::size_t turn();

  file_descriptor socket_;
  destination to_;
  std::vector<socket_address> addresses_; // one for each port
  std::array<datagram, capacity> datagrams_{};
  std::size_t used_ = 0;
  std::size_t next_port_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
  std::uint16_t refused_port_ = 0;
  failure on_failure_;
  std::string no_way_;
};

} // namespace l3
