// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3-bench pack` and `unpack`: each rate beside that of memcpy in the same run.
// Rates count bytes of waveforms, in both directions.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/report.hpp"

namespace l3::bench {

struct codec_row {
  std::string name;
  double ratio = 0; ///< of compression; 0: it is a copy
  timing hot;
  timing cold;
};

struct codec_report {
  std::string bench;
  std::vector<std::size_t> by_n; ///< how many have each N
  std::size_t hot_bytes = 0;     ///< of waveforms in a run
  std::size_t cold_bytes = 0;
  std::size_t cold_distance = 0; ///< bytes that others touch until one comes back to its own
  std::vector<codec_row> rows;   ///< the first is memcpy

  [[nodiscard]] bool all_right() const;
};

[[nodiscard]] boost::json::object to_json(const codec_report& r);

} // namespace l3::bench
