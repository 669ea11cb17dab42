// SPDX-License-Identifier: Apache-2.0
// Makes the alert rules, their tests and sections of the runbook from a table of troubles. The
// programs that print a reference use it; ./run docs calls them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "monitor/trouble.hpp"

namespace l3 {

/// A program with a table.
struct trouble_table {
  std::string_view program; ///< in the marks
  std::span<const trouble_row> rows;
  std::string_view metric; ///< "koto_l3_trouble"
  std::string_view events; ///< "koto_l3_trouble_events"; empty: none
};

/// "KotoL3CrateFault".
[[nodiscard]] std::string alert_of(const trouble_row& row);

/// Rules for deploy/alerts.yml.
[[nodiscard]] std::string alert_rules(const trouble_table& t);
/// Tests of these rules for deploy/alerts_test.yml: each fires, and narrowly misses firing.
[[nodiscard]] std::string alert_tests(const trouble_table& t);
/// Sections for docs/runbook.md.
[[nodiscard]] std::string runbook_sections(const trouble_table& t);

/// Prints the file with its part between the lines that contain "begin: PROGRAM" and
/// "end: PROGRAM" made anew. `what`: alerts, alerts-test or runbook. Returns the exit code.
[[nodiscard]] int print_with_troubles(const trouble_table& t, std::string_view what,
                                      const char* file);

} // namespace l3
