// SPDX-License-Identifier: Apache-2.0
// Histograms as text for people: what they are of, one line for each histogram, the inputs in
// short, and those that changed since a reference.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "transport/histograms/comparison.hpp"

namespace l3 {

[[nodiscard]] std::string table_of(const shown_histograms& h);

/// At most so many lines of changes; a last line says how many are left out.
[[nodiscard]] std::string table_of(const std::vector<channel_change>& changes, std::size_t most);

} // namespace l3
