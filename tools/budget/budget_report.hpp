// SPDX-License-Identifier: Apache-2.0
// A budget as a table for people, as JSON, and as a picture.
#pragma once

#include <string>

#include "tools/budget/line_budget.hpp"

namespace l3 {

[[nodiscard]] std::string budget_table(const budget& b);
[[nodiscard]] std::string budget_json(const budget& b);
/// Bars: what each line costs of the link as it is, and without prescale by payload.
[[nodiscard]] std::string budget_svg(const budget& b);

} // namespace l3
