// SPDX-License-Identifier: Apache-2.0
// Receives level-2 datagrams (docs/formats.md, section 3). Each thread serves its share of the
// ports with recvmmsg: headers go aside, payloads straight into the landing slots that the event
// builder deals out. The sender cannot be slowed down, so a thread waits for datagrams only:
// without a free frame it goes on reading, and the builder counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/input/settings.hpp"
#include "transport/input/udp_socket.hpp"

namespace l3 {

class udp_thread;

/// Every port of the settings, as the first constructor below.
[[nodiscard]] std::vector<udp_socket> bind_ports(const udp_settings& settings);

class udp_receiver {
public:
  /// Binds every port and starts the threads. Throws std::runtime_error that names address and port
  /// if one cannot be bound. With port 0 the system chooses each port.
  udp_receiver(const udp_settings& settings, event_builder& builder);
  /// The same with ports that are bound already, at least one.
  udp_receiver(std::vector<udp_socket> sockets, const udp_settings& settings,
               event_builder& builder);
  /// Calls stop().
  ~udp_receiver();
  udp_receiver(const udp_receiver&) = delete;
  udp_receiver& operator=(const udp_receiver&) = delete;

  /// Takes the datagrams that the sockets hold, or leaves them there, then ends the threads, which
  /// no longer call the builder.
  void stop(sockets_hold what = sockets_hold::what_to_take);

  [[nodiscard]] const std::vector<std::uint16_t>& ports() const { return ports_; }
  /// The smallest receive buffer that the system granted to a socket.
  [[nodiscard]] byte_size socket_buffer() const { return socket_buffer_; }
  /// Which kernel setting would grant the configured buffers; empty if the sockets got them.
  [[nodiscard]] const std::string& advice() const { return advice_; }

  /// One for each thread.
  [[nodiscard]] std::size_t inputs() const { return threads_.size(); }
  [[nodiscard]] const input_counters& input(std::size_t thread) const;
  /// Rises many times a second, whether there is work or not. Any thread.
  [[nodiscard]] std::uint64_t turns(std::size_t thread) const;

private:
  std::vector<std::unique_ptr<udp_thread>> threads_;
  std::vector<std::uint16_t> ports_;
  byte_size socket_buffer_;
  std::string advice_;
};

} // namespace l3
