// SPDX-License-Identifier: Apache-2.0
// Whether kernels may trust the tables of a batch that came from a file: its entries point inside
// it and hold no more than admission lets pass, and its fragments together are no longer than the
// input, so that an engine's output has room for every event. Only the number of results is
// checked: the device's results may be wrong, and that is why the batch was kept.
#pragma once

#include <string>

#include "transport/file/batch_file.hpp"

namespace l3 {

/// The first fault found; empty if there is none.
[[nodiscard]] std::string wrong_with(const batch_file& b);

} // namespace l3
