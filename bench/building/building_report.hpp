// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3-bench building`: the rate of event building for each way in which the same
// events can arrive, beside one thread that copies the same payloads into the same memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/building/feed.hpp"
#include "bench/harness/report.hpp"

namespace l3::bench {

struct building_row {
  feed_plan plan;
  arrival how = arrival::in_order;
  std::uint32_t events = 0;        ///< whole ones
  std::uint64_t payload_bytes = 0; ///< of all that arrived
  std::vector<feed_result> runs;   ///< by round
  bool right = true;               ///< every run was, and one in which every byte was compared
};

struct building_report {
  std::uint32_t events = 0;
  std::uint64_t payload_bytes = 0; ///< of these
  timing bare_pass;                ///< of one thread over them
  std::vector<building_row> rows;

  [[nodiscard]] bool all_right() const;
};

struct building_options {
  std::uint32_t events = 512;
  std::uint32_t rounds = 7;
  std::vector<std::uint32_t> threads{1, 2, 4};
  std::vector<std::uint32_t> datagrams_per_call{64, 2};
};

/// Each way takes its turn in each round, and before them in a round whose output is compared.
[[nodiscard]] building_report measure_building(const building_options& o);

[[nodiscard]] boost::json::object to_json(const building_report& r);

} // namespace l3::bench
