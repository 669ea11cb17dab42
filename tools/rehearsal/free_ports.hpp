// SPDX-License-Identifier: Apache-2.0
// Finds free ports on loopback.
#pragma once

#include <cstdint>

namespace l3 {

/// The first of `count` adjacent ports that are free for UDP and TCP on 127.0.0.1. Throws
/// std::runtime_error if there are none.
[[nodiscard]] std::uint16_t free_ports(std::uint16_t count);

} // namespace l3
