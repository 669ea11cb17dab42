// SPDX-License-Identifier: Apache-2.0
// The limit of a receive thread: a thread that only polls its sockets and calls recvmmsg on those
// with data. Payloads go to the given slots in turn.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "transport/input/udp_socket.hpp"

namespace l3::bench {

class bare_receiver {
public:
  static constexpr std::size_t burst = 64; ///< most datagrams of a call

  /// `port`: the first one. `slots`: each has room for a payload of `slot_bytes`; at least as many
  /// as a call may fill.
  bare_receiver(std::uint16_t port, std::uint16_t ports, byte_size socket_buffer,
                std::vector<std::byte*> slots, std::size_t slot_bytes);
  ~bare_receiver();
  bare_receiver(const bare_receiver&) = delete;
  bare_receiver& operator=(const bare_receiver&) = delete;

  /// Takes the datagrams in the sockets, and ends the thread.
  void stop();

  [[nodiscard]] std::uint64_t datagrams() const { return datagrams_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
  void run();

  std::vector<udp_socket> sockets_;
  std::vector<std::byte*> slots_;
  std::size_t slot_bytes_;
  std::atomic<bool> stopping_ = false;
  std::uint64_t datagrams_ = 0; // written by the thread until it ends
  std::uint64_t bytes_ = 0;
  std::thread thread_;
};

} // namespace l3::bench
