// SPDX-License-Identifier: Apache-2.0
// The report of `koto-l3-bench sort`: our rate beside that of the library, row by row.
#pragma once

#include <span>
#include <string>

#include "bench/harness/report.hpp"
#include "bench/selection/sorting.hpp"

namespace l3::bench {

/// `no_device`: why no device was measured.
[[nodiscard]] boost::json::object sort_report(std::span<const sort_row> rows,
                                              const std::string& no_device);

} // namespace l3::bench
