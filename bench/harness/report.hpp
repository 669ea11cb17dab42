// SPDX-License-Identifier: Apache-2.0
// The findings of a bench, as one JSON object: printed as it is, or as a table to read, which
// `show` also makes of a file. The table knows no bench: what stands alone in the report becomes a
// line, a list of objects becomes a table with a column for each of their keys.
#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "bench/harness/measure.hpp"

namespace l3::bench {

/// A report begins with the name of the bench and the processor.
[[nodiscard]] boost::json::object report_of(std::string_view bench);

/// The row with `amount` per second, its quartiles and whether the output was right.
[[nodiscard]] boost::json::object rated(boost::json::object row, std::string_view rate,
                                        double amount, const timing& t);

[[nodiscard]] std::string report_table(const boost::json::object& report);

/// From the text of a report. Throws std::runtime_error if it is no JSON object.
[[nodiscard]] std::string report_table(std::string_view json);

/// Prints it, and returns the exit code: it tells whether all that was measured was right.
[[nodiscard]] int print_report(const boost::json::object& report, bool as_json, bool right);

} // namespace l3::bench
