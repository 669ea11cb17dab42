// SPDX-License-Identifier: Apache-2.0
// One receive thread with its ports, landing ring and counters. It waits with epoll. When ports
// have data, it reads them in turn, a limited number of datagrams each, round after round until
// none has more than that: a flooded port does not starve the others, and datagrams sent together
// are read close together. Then it sleeps so that datagrams gather (nap_after_sweep). It also
// checks the time limits of event building, less often while nothing arrives and no event is open.
//
// The kernel may gather consecutive datagrams of one length in a read (UDP_GRO). The vector of a
// read alternates between memory for a header and a slot of the ring, so that the payloads of full
// datagrams land in slots. All other datagrams of a gathered read are copied to slots. After a call
// without gathered reads, the next one has a place for only one datagram in each read.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "transport/building/event_builder.hpp"
#include "transport/format/source_list.hpp"
#include "transport/format/time.hpp"
#include "transport/format/units.hpp"
#include "transport/input/udp_socket.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/mapped_memory.hpp"
#include "transport/system/threads.hpp"

namespace l3 {

/// The smallest receive buffer of at least one socket.
[[nodiscard]] byte_size smallest_buffer(const std::vector<udp_socket>& sockets);

/// How long a receive thread sleeps after a sweep over its ports, so that datagrams gather and one
/// call reads several. To avoid an overflow, it sleeps no longer than a full 10-gigabit link to one
/// port needs to fill half of the smallest buffer. It does not sleep if it has `left_behind`
/// datagrams, because a burst was full.
[[nodiscard]] std::chrono::nanoseconds nap_after_sweep(byte_size smallest_buffer, bool left_behind);

class udp_thread {
public:
  /// Throws std::system_error if no descriptor is free.
  udp_thread(std::vector<udp_socket> sockets, source_list allow, event_builder& builder);
  ~udp_thread();

  void request_stop(sockets_hold what);
  void join();
  [[nodiscard]] const input_counters& input() const { return input_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] bool has_waiting() const; ///< datagrams in a socket

private:
  void watch(int descriptor, std::uint32_t number) const;
  void run();
  void read_what_is_left();
  void look(std::chrono::nanoseconds limit);
  [[nodiscard]] std::chrono::nanoseconds sweep(time_point looked_at);
  [[nodiscard]] bool receive(const udp_socket& p);
  [[nodiscard]] std::size_t prepare_reads();
  [[nodiscard]] std::size_t take_read(std::size_t m);
  [[nodiscard]] bool has_emptied(bool more);
  [[nodiscard]] std::optional<refused> refusal_of(bool may_send, std::size_t bytes);
  void tick(time_point now);
  [[nodiscard]] bool is_quiet(time_point now) const;
  void count_drops();

  static constexpr std::size_t burst = 64; ///< most reads from a port in its turn
  /// Most datagrams of a read that land in slots: the kernel gathers no more than 8 of 8000 bytes.
  static constexpr std::size_t most_in_place = 8;
  /// Entries of the ring: a burst, and one more while another thread owns the event builder.
  static constexpr std::uint32_t ring_entries = 2 * burst;

  event_builder& builder_;
  std::vector<udp_socket> ports_;
  wake_event stop_;
  std::atomic<sockets_hold> left_ = sockets_hold::what_to_take; ///< at the stop
  file_descriptor epoll_;
  std::vector<epoll_event> events_;
  std::vector<std::uint32_t> ready_; ///< ports with data at the last look
  bool all_empty_ = false;           ///< the last look found no port with data
  bool stopping_ = false;
  const byte_size smallest_buffer_;
  const std::uint64_t most_full_reads_; ///< a full buffer has no more datagrams
  std::uint64_t full_reads_ = 0;        ///< from each port since the ports were last emptied
  std::size_t fewest_reads_ = burst;    ///< of the calls of this round that may have left data
  input_counters input_;
  landing_ring ring_;
  time_point received_at_{};
  time_point tick_at_{};
  time_point drops_counted_at_{};
  counter turns_; ///< ticks, for progress_watch

  const std::size_t full_bytes_; ///< of a full datagram
  bool gathered_ = false;        ///< the last call brought a gathered read
  std::size_t in_place_ = 0;     ///< full datagrams of each read that land in slots
  std::array<std::array<std::byte, l2::datagram_header_bytes>, ring_entries> headers_{};
  std::array<std::array<iovec, 2 * most_in_place + 1>, burst> parts_{};
  mapped_memory beside_slots_{burst * longest_read}; ///< the rest of each read, which has no slots
  std::array<mmsghdr, burst> reads_{};
  std::array<read_control, burst> controls_{};
  source_list allow_;
  std::array<datagram_source, burst> sources_{};               ///< unused if every source may send
  std::vector<datagram> landed_;                               ///< in the next free entries
  std::vector<std::pair<datagram, const std::byte*>> to_copy_; ///< with their payloads

  std::thread thread_;
};

} // namespace l3
