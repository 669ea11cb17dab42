// SPDX-License-Identifier: Apache-2.0
// The name that somebody most likely meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace l3 {

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to the name, or one with the same name behind the last dot: the right key
/// under the wrong heading is the likeliest slip. Empty if none is near enough to be meant.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       const std::vector<std::string_view>& candidates);

/// What to write instead: "did you mean NEAREST?", or else "there are ALL".
[[nodiscard]] std::string suggest(std::string_view name, const std::vector<std::string_view>& all);

} // namespace l3
