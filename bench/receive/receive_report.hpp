// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3-bench receive`: what the receive thread of the daemon takes for the
// datagrams of a readout, event building included, beside bare loops over the same sockets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/report.hpp"
#include "bench/receive/sending.hpp"
#include "transport/format/units.hpp"

namespace l3::bench {

/// One way to receive, over all rounds.
struct receive_row {
  std::string receiver;
  double wanted_rate = 0; ///< bytes per second; 0: unpaced
  struct run {
    double rate = 0; ///< that the sender reached
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes = 0; ///< received
    cpu_time cpu;            ///< of the receiving thread
  };
  std::vector<run> runs;
  bool right = true; ///< no datagram is unaccounted for, and every whole event was built
};

struct receive_report {
  std::uint32_t events = 0;
  byte_size socket_buffer;       ///< as granted
  std::vector<receive_row> rows; ///< the bare loops follow the daemon at each rate

  [[nodiscard]] bool all_right() const;
};

struct receive_options {
  std::uint32_t events = 512;
  std::uint32_t rounds = 5;
  byte_size socket_buffer = mebibytes(16);
  double bytes_per_second = 600e6;
};

[[nodiscard]] receive_report measure_receiving(const receive_options& o);

[[nodiscard]] boost::json::object to_json(const receive_report& r);

} // namespace l3::bench
