// SPDX-License-Identifier: Apache-2.0
// The readout as people write it: a list of crates of one kind each, in the order of the fragment
// id: ["0-10: 16 x 125 MHz", "11: 12 x 125 MHz", "15-17: 16 x 500 MHz"].
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "transport/format/readout.hpp"

namespace l3 {

/// The crates of one list entry, or what is wrong with it ("has 17 boards; a crate has 1..16").
[[nodiscard]] std::variant<std::vector<crate_readout>, std::string>
read_crates(std::string_view entry);

/// The shortest list that reads back to the same readout.
[[nodiscard]] std::vector<std::string> show_crates(const readout& crates);

} // namespace l3
