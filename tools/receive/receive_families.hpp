// SPDX-License-Identifier: Apache-2.0
// What a receiver tells about itself: the description of each of its numbers. A new one is one
// entry of receive_families.cpp.
#pragma once

#include <vector>

#include "monitor/family.hpp"
#include "tools/receive/receive_snapshot.hpp"

namespace l3 {

/// In the order of /metrics. The number of series depends on that of the daemons only.
[[nodiscard]] std::vector<family> families_of(const receive_snapshot& s);

} // namespace l3
