// SPDX-License-Identifier: Apache-2.0
// Sends a file over UDP like the electronics: fragments cut into datagrams, a trailer after each,
// ports in turn, an end of spill for each crate (docs/formats.md, section 3). Several daemons take
// turns, by event or by spill; each gets the end of every spill, with its number of events.
// Payloads go directly from the file's memory to the socket, in small bursts spread over the
// event's slot.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/replay/destination.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

struct udp_replay_settings {
  std::vector<destination> to; ///< at least one
  replay_share share = replay_share::by_event;
  replay_rate rate;
  std::uint32_t loops = 1;
  std::uint32_t threads = 1;        ///< that send every nth event; from 2 on with fast bursts
  std::uint32_t chunk_bytes = 8000; ///< a multiple of 4
  double drop = 0;                  ///< probability to leave out a datagram
  double duplicate = 0;             ///< … to send it twice
  std::chrono::nanoseconds end_delay = std::chrono::milliseconds(200);
};

/// A crate's ends of spill: the number of events in parts of 15 bits. Empty for no events.
[[nodiscard]] std::vector<l2::datagram_header>
ends_of_spill(std::uint32_t events, std::uint32_t spill, std::uint32_t crate);

/// Sends the file. Throws std::runtime_error if the network fails, or if the port of a single
/// daemon is closed at the start. An absent one of several daemons only loses its data.
[[nodiscard]] replay_report replay_over_udp(const replay_source& source,
                                            const udp_replay_settings& settings,
                                            const replay_watch& watch);

} // namespace l3
