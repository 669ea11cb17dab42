// SPDX-License-Identifier: Apache-2.0
// The readout of stored runs. Stored events know the place of each crate in the readout, and the
// settings of their sessions the readout itself: by another one their samples would be those of
// other channels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/format/readout.hpp"

namespace l3 {

/// Takes what settings in this file or folder say. Throws command_error if others say another one.
void agree(std::optional<readout>& stored, const readout& crates, const std::string& where);

/// What is stored; without stored settings what `--crates` says, or KOTO's. Throws
/// command_error if `--crates` says another one than what is stored.
[[nodiscard]] readout readout_of(const std::optional<readout>& stored,
                                 const std::vector<std::string>& crates);

/// As messages show it: the entries of readout.crates.
[[nodiscard]] std::string in_words(const readout& crates);

} // namespace l3
