// SPDX-License-Identifier: Apache-2.0
// A receiver's ledger: what its store holds, and what came over the link since its start.
#pragma once

#include <cstdint>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

/// `failing`: it ends, and its store cannot be written.
enum class receiver_is : std::uint8_t { running, failing, ended };

[[nodiscard]] ledger account_of(const store_writer& store, const receive_counters& c,
                                receiver_is now);

} // namespace l3
