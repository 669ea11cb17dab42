// SPDX-License-Identifier: Apache-2.0
// The name that someone most likely meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace l3 {

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to the name; empty if none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view name,
                                  const std::vector<std::string_view>& candidates);

} // namespace l3
