// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3-bench codecs`: our codecs and those of others on the same waveforms, each
// by bytes and by speed in both directions, beside limits of how few bytes there could be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/codec/general_codecs.hpp"
#include "bench/harness/report.hpp"

namespace l3::bench {

struct comparison_row {
  std::string file;
  std::string what;
  double bytes = 0;
  /// Of a pass over all waveforms of the file. A limit is not timed: its medians are 0.
  timing encode{};
  timing decode{};
};

struct comparison_report {
  std::uint32_t samples = 0;        ///< of a waveform
  std::vector<comparison_row> rows; ///< file by file, each in the same order
  std::vector<double> plain_bytes;  ///< by file

  [[nodiscard]] bool all_right() const;
};

/// Reads bare waveforms of `samples` each. Throws command_error for what holds none, or no whole
/// number of them.
[[nodiscard]] std::vector<std::uint16_t> waveforms_of(const std::string& file,
                                                      std::uint32_t samples);

/// Measures all codecs on a file, adds its rows to the report, and the limits behind them.
void compare(const std::string& file, std::uint32_t rounds, comparison_report& to);

/// `ratio` is of the bytes of the waveforms, `koto_ratio` of the bytes of KOTO records: how many
/// times fewer there are. A mean over files is geometric.
[[nodiscard]] boost::json::object to_json(const comparison_report& r);

} // namespace l3::bench
