// SPDX-License-Identifier: Apache-2.0
// The limit beside which TCP is measured: what iperf3 moves over loopback on this machine. It is
// looked up in PATH; without it the bench names the reason and measures the rest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace l3 {

struct iperf3_result {
  std::optional<double> rate; ///< bytes per second
  std::string why_not;        ///< without a rate
};

/// Runs for some seconds. Its output goes to `folder`.
[[nodiscard]] iperf3_result run_iperf3(const std::filesystem::path& folder);

} // namespace l3
