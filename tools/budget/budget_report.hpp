// SPDX-License-Identifier: Apache-2.0
// Budgets as a table for people, as JSON, and as a picture.
#pragma once

#include <span>
#include <string>

#include "tools/budget/line_budget.hpp"

namespace l3 {

/// Each takes the budgets of the same events by codec, one at least.
[[nodiscard]] std::string budget_table(std::span<const budget> by_codec);
[[nodiscard]] std::string budget_json(std::span<const budget> by_codec);
/// Bars: what each line costs of the link as it is, and without prescale by payload.
[[nodiscard]] std::string budget_svg(std::span<const budget> by_codec);

} // namespace l3
