// SPDX-License-Identifier: Apache-2.0
// Sums that hold within one ledger (docs/formats.md, section 10): what became of its events, of its
// fragments and of its datagrams, and whether its crates and its spills add up to the whole.
#pragma once

#include <vector>

#include "tools/verify/agreement.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

/// By which way the data came to a daemon. Its ledger alone does not say whether some came over TCP
/// besides UDP.
enum class came_by : std::uint8_t { udp_alone, any };

/// A figure of which only a bound is known is among them where it is beyond the bound.
[[nodiscard]] std::vector<agreement> own_sums(const ledger& l, came_by way);

} // namespace l3
