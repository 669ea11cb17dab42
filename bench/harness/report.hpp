// SPDX-License-Identifier: Apache-2.0
// The results of a bench as one JSON object: printed unchanged, or as a table, which `show` also
// makes from a file. The table is generic: single values become lines, a list of objects becomes a
// table with a column for each key.
#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "bench/harness/measure.hpp"

namespace l3::bench {

/// A report begins with the name of the bench and the processor.
[[nodiscard]] boost::json::object report_of(std::string_view bench);

/// The row with `amount` per second, its quartiles, whether the output was right, and the executed
/// instructions, where they are counted.
[[nodiscard]] boost::json::object rated(boost::json::object row, std::string_view rate,
                                        double amount, const timing& t);

[[nodiscard]] std::string report_table(const boost::json::object& report);

/// Makes a table from the text of a report. Throws std::runtime_error if it is no JSON object.
[[nodiscard]] std::string report_table(std::string_view json);

/// Prints it and returns the exit code: success if all outputs were right.
[[nodiscard]] int print_report(const boost::json::object& report, bool as_json, bool right);

} // namespace l3::bench
