// SPDX-License-Identifier: Apache-2.0
// Receives level-2 datagrams (docs/formats.md, section 3). Each thread serves its ports with
// recvmmsg: headers go to separate memory, payloads directly into the landing slots of the event
// builder. The sender cannot be slowed down, so a thread waits only for datagrams: without a free
// frame it continues to read, and the builder counts.
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

/// Binds every port of the settings, as the first constructor below does. The kernel may gather
/// consecutive datagrams of a sender in one read (UDP_GRO).
[[nodiscard]] std::vector<udp_socket> bind_ports(const udp_settings& settings);

class udp_receiver {
public:
  /// Binds every port and starts the threads. Throws std::runtime_error, with address and port, if
  /// one cannot be bound. With port 0 the system chooses each port.
  udp_receiver(const udp_settings& settings, event_builder& builder);
  /// Uses ports that are already bound; at least one.
  udp_receiver(std::vector<udp_socket> sockets, const udp_settings& settings,
               event_builder& builder);
  /// Calls stop().
  ~udp_receiver();
  udp_receiver(const udp_receiver&) = delete;
  udp_receiver& operator=(const udp_receiver&) = delete;

  /// Takes the datagrams in the sockets, or leaves them there, then ends the threads. They do not
  /// call the builder after that.
  void stop(sockets_hold what = sockets_hold::what_to_take);

  [[nodiscard]] const std::vector<std::uint16_t>& ports() const { return ports_; }
  /// The smallest receive buffer that the system granted to a socket.
  [[nodiscard]] byte_size socket_buffer() const { return socket_buffer_; }
  /// The kernel setting that would allow the configured buffers; empty if the sockets got them.
  [[nodiscard]] const std::string& advice() const { return advice_; }

  /// One per thread.
  [[nodiscard]] std::size_t inputs() const { return threads_.size(); }
  [[nodiscard]] const input_counters& input(std::size_t thread) const;
  /// Increases many times a second, with or without work. Any thread.
  [[nodiscard]] std::uint64_t turns(std::size_t thread) const;
  /// Whether datagrams wait in a socket of the thread. Any thread.
  [[nodiscard]] bool has_waiting(std::size_t thread) const;

private:
  std::vector<std::unique_ptr<udp_thread>> threads_;
  std::vector<std::uint16_t> ports_;
  byte_size socket_buffer_;
  std::string advice_;
};

} // namespace l3
