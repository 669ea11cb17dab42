// SPDX-License-Identifier: Apache-2.0
// The cost of the selection, part by part and in sum, beside decoding in the same run. Ratios are
// made within each round, where the parts ran one behind the other, and of these the median: what
// slows a whole round down does not change them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/report.hpp"
#include "bench/selection/select_runner.hpp"

namespace l3::bench {

struct select_row {
  part_kind kind;
  std::string name;
  timing time; ///< of a batch
};

struct select_report {
  /// Features and selection must cost less than so many times the decode.
  static constexpr double most_of_decode = 2;
  /// A device must select so many events a second from its memory.
  static constexpr double least_device_rate = 1e6;

  std::string where;
  std::uint32_t cores = 0; ///< 0: a device
  std::uint32_t events = 0;
  std::uint64_t input_bytes = 0;
  std::uint32_t kept = 0;
  std::string no_device; ///< why no device was measured
  std::vector<select_row> rows;

  [[nodiscard]] bool all_right() const;
  [[nodiscard]] const select_row& row(part_kind kind) const; ///< the first of its kind
  /// The row's time, as a multiple of the decode's.
  [[nodiscard]] timing of_decode(const select_row& r) const;
  /// The time of all algorithms, each by itself, beyond the decode, as a multiple of it.
  [[nodiscard]] timing added() const;
  [[nodiscard]] double events_per_second(double seconds) const { return events / seconds; }
};

/// All parts take turns; `passes` make one timing. One core is timed by the thread's own clock.
[[nodiscard]] std::vector<select_row> measure_selection(const select_runner& runner,
                                                        std::uint32_t rounds, std::uint32_t passes);

[[nodiscard]] boost::json::object to_json(const select_report& r);

} // namespace l3::bench
