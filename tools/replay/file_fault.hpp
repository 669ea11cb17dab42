// SPDX-License-Identifier: Apache-2.0
// The fault of an .l2raw file, in words for its user.
#pragma once

#include <string>

#include "transport/file/l2raw.hpp"

namespace l3 {

/// For a reader with damage(): "is not an .l2raw file", "ends within a record, at offset 4096", "is
/// broken at offset 4096: stream_checksum".
[[nodiscard]] std::string fault_of(const l2raw_reader& file);

} // namespace l3
