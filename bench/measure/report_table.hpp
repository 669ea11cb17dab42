// SPDX-License-Identifier: Apache-2.0
// What a bench printed with --json, as a table to read: so one run gives both. It knows no bench:
// what stands alone in the report becomes a line, a list of objects a table with a column for each
// of their keys.
#pragma once

#include <string>
#include <string_view>

namespace l3::bench {

/// Throws std::runtime_error if it is no JSON object.
[[nodiscard]] std::string report_table(std::string_view json);

} // namespace l3::bench
