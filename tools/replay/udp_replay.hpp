// SPDX-License-Identifier: Apache-2.0
// Sends a file like the electronics: fragments cut into datagrams, a trailer after each, ports in
// turn, an end of spill for each crate (docs/formats.md, section 3). Several daemons take turns, by
// event or by spill; each gets the end of every spill, with its number of events. Payloads go
// directly from the file's memory to the socket, in small bursts spread over the event's slot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "selection/detector/random.hpp"
#include "tools/replay/datagram_burst.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"

namespace l3 {

struct udp_replay_settings {
  std::vector<destination> to; ///< at least one
  replay_share share = replay_share::by_event;
  replay_rate rate;
  std::uint32_t loops = 1;
  std::uint32_t chunk_bytes = 8000; ///< a multiple of 4
  double drop = 0;                  ///< probability to leave out a datagram
  double duplicate = 0;             ///< … to send it twice
  std::chrono::nanoseconds end_delay = std::chrono::milliseconds(200);
};

/// A crate's ends of spill: the number of events in parts of 15 bits. Empty for no events.
[[nodiscard]] std::vector<l2::datagram_header>
ends_of_spill(std::uint32_t events, std::uint32_t spill, std::uint32_t crate);

class udp_replay {
public:
  udp_replay(const replay_source& source, const udp_replay_settings& settings);

  /// Call it once. Throws std::runtime_error if the network fails, or if the port of a single
  /// daemon is closed at the start. An absent one of several daemons only loses its data.
  replay_report run(const replay_watch& watch);

private:
  struct node {
    datagram_burst burst;
    std::vector<std::uint32_t> sent_by_crate; ///< events of this spill, by place in the readout
    std::uint64_t events = 0;
    std::uint64_t refused_before_end = 0; ///< before the last sent spill
  };

  bool send_spill(const replay_spill& spill, std::uint32_t loop, const replay_watch& watch);
  bool send_event(const replay_event& event, std::uint32_t spill, const schedule::slot& slot,
                  const replay_watch& watch);
  void send_ends_of_spill(std::uint32_t number);
  /// Adds a datagram to the burst once or twice; returns false if it is left out.
  bool put(const l2::datagram_header& header, std::span<const std::byte> payload);
  bool flush(std::chrono::nanoseconds due, std::chrono::nanoseconds spacing,
             const replay_watch& watch);
  [[nodiscard]] std::size_t line_bytes(const event_view& event) const;
  void check_refusals();
  void next_turn() { node_ = &nodes_[turns_++ % nodes_.size()]; }
  void finish_report(bool whole);

  const replay_source& source_;
  udp_replay_settings settings_;
  spill_changer changer_;
  schedule schedule_;
  pace_keeper pace_;
  std::vector<node> nodes_;
  node* node_ = nullptr; // the node in turn
  std::size_t turns_ = 0;
  random_source random_{1};
  event_view view_;
  replay_report report_;
  bool dropped_from_event_ = false;
};

} // namespace l3
