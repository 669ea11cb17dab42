// SPDX-License-Identifier: Apache-2.0
// Whether the tables of a batch that came from a file are such as kernels trust: they point where
// they may and hold no more than admission lets pass, and fragments together are no longer than the
// input, so that an engine's output has room for every event. Of the results only the number is
// looked at: a batch is kept because what its device said may be wrong.
#pragma once

#include <string>

#include "transport/file/batch_file.hpp"

namespace l3 {

/// Empty if nothing is wrong.
[[nodiscard]] std::string wrong_with(const batch_file& b);

} // namespace l3
