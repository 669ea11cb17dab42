// SPDX-License-Identifier: Apache-2.0
// The instructions that only compute: from rows of registers to a row of registers. Each typed form
// that the interpreter knows stands in one table under the name that PTX gives it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tests/device/program.hpp"

namespace l3::ptx {

/// By name.
using compute_table = std::map<std::string, compute_function, std::less<>>;
[[nodiscard]] const compute_table& compute_forms();

/// Null: there is no such form in the table.
[[nodiscard]] compute_function find_compute(std::string_view opcode);

/// How a reduction over a warp joins two values: "add.u32". Null: there is no such form.
[[nodiscard]] join_function find_join(std::string_view operation);

} // namespace l3::ptx
