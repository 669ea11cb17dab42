// SPDX-License-Identifier: Apache-2.0
// Reads the UDP ports while no run is active, and drops and counts all datagrams, so that none is
// lost silently. It also detects pauses of the beam and the crates that send: a run begins in a
// pause, and not while a crate is silent. Only datagrams that an input would accept, from sources
// in udp.allow, count for this. It has its own thread; any thread may ask.
//
// The beam pauses when the latest spill has ended and the ports were empty for 0.4 s, or when they
// were empty for 10 s. Where a spill came and went without an end, 0.4 s suffice for the next one.
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
  /// Spills are further apart.
  static constexpr std::chrono::nanoseconds shortest_pause = std::chrono::milliseconds(400);

  /// Copies the ports and reads from now on. `in_a_spill`: data of a spill came before that.
  unattended_ports(const std::vector<udp_socket>& ports, source_list allow,
                   building_settings building, std::chrono::nanoseconds pause = shortest_pause,
                   bool in_a_spill = false);

  /// Stops reading: later data wait in the ports.
  void stop() { thread_ = {}; }

  /// Dropped datagrams, including strangers' and those that the kernel dropped.
  [[nodiscard]] std::uint64_t datagrams() const { return datagrams_; }
  /// When the last datagram of a crate came, or this watch began, because it knows nothing earlier.
  [[nodiscard]] time_point quiet_since() const { return last_; }
  [[nodiscard]] bool pauses() const { return empty_at_.load() - quiet_since() >= least_pause(); }
  /// How long crates have sent without a pause; 0 while the beam pauses.
  [[nodiscard]] std::chrono::nanoseconds busy_for() const;
  /// Crates that had sent nothing for `length` when the latest datagram of any came, while at least
  /// half of the crates had. Empty if the watch was younger then.
  [[nodiscard]] std::vector<std::uint32_t> silent_for(std::chrono::nanoseconds length) const;
  /// Crates that have sent within the last `length`.
  [[nodiscard]] std::vector<std::uint32_t> senders(std::chrono::nanoseconds length) const;

private:
  static constexpr std::chrono::seconds longest_stall{10}; ///< in a spill

  void read(const std::stop_token& stop);
  void take_some(const udp_socket& port);
  void note(const l2::datagram_header& h, std::size_t payload, time_point now);
  void note_spill(const l2::trailer& t);
  [[nodiscard]] std::chrono::nanoseconds least_pause() const {
    return between_ ? pause_ : longest_stall;
  }

  const time_point began_ = steady_clock::now();
  std::vector<udp_socket> ports_;
  source_list allow_;
  building_settings building_;
  std::chrono::nanoseconds pause_;
  counter datagrams_;
  std::optional<std::uint32_t> spill_;          ///< the latest one; of the reading thread
  bool spill_ended_;                            ///< likewise
  bool ends_are_marked_ = true;                 ///< likewise
  std::atomic<bool> between_;                   ///< it has ended, or its senders mark no ends
  std::atomic<time_point> empty_at_ = began_;   ///< when the ports were last found empty
  std::atomic<time_point> last_ = began_;       ///< latest datagram, or the begin
  std::atomic<time_point> busy_since_ = began_; ///< first datagram after a pause, or the begin
  std::array<std::atomic<time_point>, most_crates> last_of_{};
  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
