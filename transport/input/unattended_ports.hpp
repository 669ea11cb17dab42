// SPDX-License-Identifier: Apache-2.0
// Reads the UDP ports while no run is in force: it takes nothing, and counts what it drops, so that
// no datagram goes by in silence. It also sees whether the beam pauses, and which crates send: a
// run begins in a pause, and not while a crate is silent. Only a datagram that an input would take,
// from a source that udp.allow admits, speaks of the beam and of a crate. One thread of its own;
// any thread asks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "transport/accounting/counter.hpp"
#include "transport/accounting/crate_counts.hpp"
#include "transport/building/settings.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/source_list.hpp"
#include "transport/format/time.hpp"
#include "transport/input/udp_socket.hpp"

namespace l3 {

class unattended_ports {
public:
  /// The beam pauses when nothing has come for so long; spills are further apart.
  static constexpr std::chrono::nanoseconds shortest_pause = std::chrono::milliseconds(400);

  /// Copies the ports; reads from now on.
  unattended_ports(const std::vector<udp_socket>& ports, source_list allow,
                   building_settings building, std::chrono::nanoseconds pause = shortest_pause);

  /// Reads no more: what comes from now on waits in the ports.
  void stop();

  /// Datagrams dropped, those of strangers and those that the kernel dropped included.
  [[nodiscard]] std::uint64_t datagrams() const { return datagrams_; }
  /// When the last datagram of a crate came, or this watch began: before that it knows nothing.
  [[nodiscard]] time_point quiet_since() const;
  [[nodiscard]] bool pauses() const { return steady_clock::now() - quiet_since() >= pause_; }
  /// How long crates have sent without a pause; 0: the beam pauses.
  [[nodiscard]] std::chrono::nanoseconds busy_for() const;
  /// Numbers of crates that had sent nothing for so long when the latest datagram of any came,
  /// while at least half of the crates had. None if the watch was younger then.
  [[nodiscard]] std::vector<std::uint32_t> silent_for(std::chrono::nanoseconds length) const;
  /// The other way round: of the few that had sent, while more than half of the crates had not.
  [[nodiscard]] std::vector<std::uint32_t> alone_for(std::chrono::nanoseconds length) const;

private:
  /// Which crates had sent nothing for so long, by place. Empty if the watch was younger.
  [[nodiscard]] std::vector<bool> silence(std::chrono::nanoseconds length) const;
  [[nodiscard]] std::vector<std::uint32_t> numbers_where(const std::vector<bool>& silent,
                                                         bool which) const;
  void read(const std::stop_token& stop);
  void take_some(const udp_socket& port);
  void note(const l2::datagram_header& h, std::size_t payload, time_point now);
  /// The place of the crate that a datagram is of; nothing: an input would refuse it.
  [[nodiscard]] std::optional<std::uint32_t> crate_of(const l2::datagram_header& h,
                                                      std::size_t payload) const;

  const time_point began_ = steady_clock::now();
  std::vector<udp_socket> ports_;
  source_list allow_;
  building_settings building_;
  std::chrono::nanoseconds pause_;
  counter datagrams_;
  std::atomic<time_point> last_{never};
  std::atomic<time_point> busy_since_{never}; ///< the first datagram behind the latest pause
  std::array<std::atomic<time_point>, most_crates> last_of_{};
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
