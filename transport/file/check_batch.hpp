// SPDX-License-Identifier: Apache-2.0
// Whether the tables of a batch that came from a file point where they may: kernels trust them.
#pragma once

#include <string>

#include "transport/file/batch_file.hpp"

namespace l3 {

/// Empty if nothing is wrong.
[[nodiscard]] std::string wrong_with(const batch_file& b);

} // namespace l3
