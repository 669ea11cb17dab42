// SPDX-License-Identifier: Apache-2.0
// Finds the name that was most likely meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace l3 {

/// Number of insertions, deletions, replacements and swaps of neighbours between the two names.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to the name, or one that is equal behind the last dot, because the right
/// key under the wrong heading is the likeliest mistake. Empty if none is near enough.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       const std::vector<std::string_view>& candidates);

/// Returns "did you mean NEAREST?", or else "there are ALL".
[[nodiscard]] std::string suggest(std::string_view name, const std::vector<std::string_view>& all);

} // namespace l3
