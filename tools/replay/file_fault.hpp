// SPDX-License-Identifier: Apache-2.0
// What is wrong with an .l2raw file, in words for whoever gave it.
#pragma once

#include <string>

#include "transport/file/l2raw.hpp"

namespace l3 {

/// Of a reader that has damage(): "is not an .l2raw file", "ends within a record, at offset 4096",
/// "is broken at offset 4096: stream_checksum".
[[nodiscard]] std::string fault_of(const l2raw_reader& file);

} // namespace l3
