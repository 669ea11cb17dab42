// SPDX-License-Identifier: Apache-2.0
// Level-2 datagrams in memory, in the order in which receive threads would read them from their
// ports: the input of event building, without sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/harness/held_batch.hpp"
#include "transport/format/l2.hpp"

namespace l3::bench {

/// Synthetic events of KOTO's readout, numbered from 1, of several spills in turn.
class made_up_events : public held_batch {
public:
  made_up_events(std::uint32_t events, std::uint32_t spills);
  [[nodiscard]] const input_batch& batch() const { return batch_; }
};

struct sent_datagram {
  l2::datagram_header header;
  const std::byte* payload = nullptr;
  std::uint32_t bytes = 0; ///< of the payload
};

/// The arrival order of the datagrams of successive events.
enum class arrival : std::uint8_t {
  in_order,   ///< each thread reads one port, which got its share of the datagrams in order
  mixed,      ///< distributed over the ports in turn; threads read port by port
  with_loss,  ///< likewise, with every hundredth datagram lost at random
  two_spills, ///< like `mixed`, with alternating datagrams of two spills
};
inline constexpr arrival all_arrivals[] = {arrival::in_order, arrival::mixed, arrival::with_loss,
                                           arrival::two_spills};
[[nodiscard]] std::string_view name_of(arrival a);
[[nodiscard]] constexpr std::uint32_t spills_of(arrival a) {
  return a == arrival::two_spills ? 2 : 1;
}

struct traffic {
  std::vector<std::vector<sent_datagram>> ports; ///< port p belongs to thread p % threads
  std::uint32_t whole_events = 0;                ///< without a lost chunk
  std::uint64_t payload_bytes = 0;               ///< of datagrams that are not lost
};

/// The datagrams of the events; their payloads are not copied.
[[nodiscard]] traffic make_traffic(const made_up_events& events, arrival a, std::uint32_t threads);

} // namespace l3::bench
