// SPDX-License-Identifier: Apache-2.0
// The id that the linker made of the program's content: two programs with one id are the same
// build, even if their versions differ.
#pragma once

#include <string>

namespace l3 {

/// The id in hexadecimal; empty if the linker made none.
[[nodiscard]] std::string build_id();

} // namespace l3
