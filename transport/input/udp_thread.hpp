// SPDX-License-Identifier: Apache-2.0
// One receive thread with its ports, landing strip and counters. It waits with epoll. When ports
// have data, it reads them in turn, a limited number of datagrams each, round after round until
// none has more than that: a flooded port does not starve the others, and datagrams sent together
// are read close together. Then it naps so that datagrams gather (receive_nap.hpp). It also checks
// the time limits of event building, less often while nothing arrives and no event is open.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "transport/building/event_builder.hpp"
#include "transport/format/source_list.hpp"
#include "transport/input/receive_nap.hpp"
#include "transport/input/udp_socket.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/wake_event.hpp"

namespace l3 {

class udp_thread {
public:
  /// Throws std::system_error if no descriptor is free.
  udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder);
  ~udp_thread();

  void request_stop(sockets_hold what);
  void join();
  [[nodiscard]] const input_counters& input() const { return input_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

private:
  void watch(int descriptor, std::uint32_t number) const;
  void run();
  void read_what_is_left();
  void look(std::chrono::nanoseconds limit);
  [[nodiscard]] std::chrono::nanoseconds sweep(time_point looked_at);
  [[nodiscard]] bool receive(const udp_socket& p);
  void place_exchanged();
  [[nodiscard]] bool may_send(const mmsghdr& message) const;
  void tick(time_point now);
  [[nodiscard]] bool is_quiet(time_point now) const;
  void count_drops();

  static constexpr std::size_t burst = 64; ///< most datagrams read from a port in its turn
  /// Room for a burst, and for datagrams that wait while another thread has the event builder's
  /// lock.
  static constexpr std::size_t slots = 2 * burst;

  event_builder& builder_;
  std::vector<udp_socket> ports_;
  wake_event stop_;
  std::atomic<sockets_hold> left_ = sockets_hold::what_to_take; ///< at the stop
  file_descriptor epoll_;
  std::vector<epoll_event> events_;
  std::vector<std::uint32_t> ready_; ///< ports with data at the last look
  bool stopping_ = false;
  landing_strip strip_;
  receive_nap nap_;
  input_counters input_;
  time_point received_at_{};
  time_point tick_at_{};
  time_point drops_counted_at_{};
  counter turns_; ///< ticks, for progress_watch

  std::array<std::array<std::byte, l2::datagram_header_bytes>, slots> headers_{};
  std::array<std::array<iovec, 2>, slots> parts_{};
  std::array<mmsghdr, slots> messages_{};
  source_list allow_;
  std::array<datagram_source, slots> sources_{}; ///< unused if every source may send
  std::vector<datagram> landed_;

  std::thread thread_;
};

} // namespace l3
