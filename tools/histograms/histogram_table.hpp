// SPDX-License-Identifier: Apache-2.0
// Histograms as text for people: what they are of, one line for each histogram, the inputs in
// short, and those that changed since a reference.
#pragma once

#include <cstddef>
#include <string>

#include "transport/histograms/comparison.hpp"

namespace l3 {

[[nodiscard]] std::string table_of(const shown_histograms& h);

/// At most so many lines of changes; a last line says how many are left out. Inputs that one of
/// both runs only has are counted by crate; a histogram that changed has a line with both means.
[[nodiscard]] std::string table_of(const run_changes& changes, std::size_t most);

} // namespace l3
