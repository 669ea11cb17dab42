// SPDX-License-Identifier: Apache-2.0
// Histograms as text for people: their description, one line per histogram, a summary of the
// inputs, and the inputs that changed since a reference.
#pragma once

#include <cstddef>
#include <string>

#include "transport/histograms/comparison.hpp"

namespace l3 {

[[nodiscard]] std::string table_of(const shown_histograms& h);

/// Writes at most `most` lines of changes, and a last line with the number of the others. Inputs
/// that only one run has are counted by crate; a changed histogram has a line with both means.
[[nodiscard]] std::string table_of(const run_changes& changes, std::size_t most);

} // namespace l3
