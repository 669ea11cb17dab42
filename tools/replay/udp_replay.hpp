// SPDX-License-Identifier: Apache-2.0
// Sends a few datagrams in one system call, with payloads directly from the caller's memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selection/detector/random.hpp"
#include "tools/replay/destination.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"
#include "transport/format/l2.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class datagram_burst {
public:
  static constexpr std::size_t capacity = 16; ///< few, so that they fit a receiver's sockets

  /// The reaction to an unreachable destination: send() throws, or refused() counts.
  enum class failure : std::uint8_t { throws, counts };

  /// Throws std::runtime_error if the destination is unknown.
  explicit datagram_burst(const destination& to, failure on_failure = failure::throws);

  [[nodiscard]] const destination& to() const { return to_; }

  /// The payload must live until the burst is sent. Uses the destination's ports in turn.
  void add(const l2::datagram_header& header, std::span<const std::byte> payload);
  /// Skips the next datagram and its port's turn.
  void leave_out() { turn(); }
  /// Sends the last datagram twice, to the same port.
  void repeat_last();

  [[nodiscard]] bool full() const { return used_ == capacity; }
  [[nodiscard]] bool empty() const { return used_ == 0; }
  /// Sends all. Throws std::runtime_error on a network error.
  void send();

  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_; }

  /// Asks the system whether datagrams met a closed port; refused() counts them. Errors from
  /// another machine take a while.
  void take_errors();
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint16_t refused_port() const { return refused_port_; } ///< the first one
  /// Why the destination was unreachable, in the system's words; empty if it was reachable.
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
  std::vector<socket_address> addresses_; // one per port
  std::array<datagram, capacity> datagrams_{};
  std::size_t used_ = 0;
  std::size_t next_port_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
  std::uint16_t refused_port_ = 0;
  failure on_failure_;
  std::string no_way_;
};

/// Sends a file like the electronics: fragments cut into datagrams, a trailer after each, ports in
/// turn, an end of spill for each crate (docs/formats.md, section 3). Several daemons take turns,
/// by event or by spill; each gets the end of every spill, with its number of events. Payloads go
/// directly from the file's memory to the socket, in small bursts spread over the event's slot.
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
