// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/sort_report.hpp"

namespace l3::bench {

boost::json::object sort_report(std::span<const sort_row> sorted, const std::string& no_device) {
  boost::json::object report = report_of("sort");
  report["no_device"] = no_device;
  boost::json::array rows;
  for (const sort_row& row : sorted) {
    boost::json::object o = rated({{"where", row.where},
                                   {"segments", row.segments},
                                   {"keys_per_segment", row.keys_per_segment}},
                                  "keys_per_second", row.keys(), row.ours);
    o["library"] = row.library;
    o["library_keys_per_second"] = row.keys() / row.theirs.median;
    o["of_library"] = row.theirs.median / row.ours.median;
    o["right"] = row.right();
    rows.push_back(std::move(o));
  }
  report["rows"] = std::move(rows);
  return report;
}

} // namespace l3::bench
