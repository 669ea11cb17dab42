// SPDX-License-Identifier: Apache-2.0
// Which build this is: the id that the linker made of everything in it. Two programs with one id
// are the same program, whatever their version says.
#pragma once

#include <string>

namespace l3 {

/// In hexadecimal; empty if the linker left none.
[[nodiscard]] std::string build_id();

} // namespace l3
