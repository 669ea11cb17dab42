// SPDX-License-Identifier: Apache-2.0
// One receive thread: its ports, its landing strip, its counters. When Asio reports that a port has
// data, the thread reads all its ports in turn, a bounded number of datagrams each, until all are
// empty: a flooded port does not starve the others, and datagrams that were sent together are read
// close together.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <vector>

#include "transport/building/event_builder.hpp"
#include "transport/format/source_list.hpp"
#include "transport/input/udp_socket.hpp"

namespace l3 {

class udp_thread {
public:
  udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder);
  ~udp_thread();

  void request_stop();
  void join();
  [[nodiscard]] const input_counters& input() const { return input_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  struct port {
    explicit port(boost::asio::io_context& context, int descriptor) : socket(context, descriptor) {}
    boost::asio::posix::stream_descriptor socket;
    bool waiting = false;
    std::uint32_t dropped = 0;
  };

  void run();
  void wait();
  void wait_for_tick();
  void sweep();
  [[nodiscard]] std::size_t receive(port& p);
  void place_exchanged();
  [[nodiscard]] bool may_send(const mmsghdr& message) const;
  void count_drops();

  static constexpr std::size_t burst = 64; ///< datagrams taken from a port in its turn

  event_builder& builder_;
  boost::asio::io_context context_{1};
  boost::asio::steady_timer tick_;
  std::vector<port> ports_;
  landing_strip strip_;
  input_counters input_;
  bool sweep_is_due_ = false;
  unsigned ticks_ = 0;
  counter turns_; ///< of the timer, for progress_watch

  std::array<std::array<std::byte, l2::datagram_header_bytes>, burst> headers_{};
  std::array<std::array<iovec, 2>, burst> parts_{};
  std::array<mmsghdr, burst> messages_{};
  source_list allow_;
  std::array<sockaddr_in, burst> sources_{}; ///< unused if every source may send
  std::vector<datagram> landed_;

  std::thread thread_;
};

} // namespace l3
