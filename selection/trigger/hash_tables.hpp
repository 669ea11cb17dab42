// SPDX-License-Identifier: Apache-2.0
// A number for all that decides: algorithms, cuts, vetoes, lines, calibration and geometry, but not
// the run. Every selected event carries it, so that analysts can tell what was in force; two files
// with the same number were selected alike.
#pragma once

#include "selection/trigger/make_tables.hpp"

namespace l3 {

/// FNV-1a, 32 bits, of the tables and of the sequence. constants.run and .settings do not count.
[[nodiscard]] std::uint32_t hash_of(const host_tables& t, const selection_settings& settings);

} // namespace l3
