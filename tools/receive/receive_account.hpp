// SPDX-License-Identifier: Apache-2.0
// A receiver's ledger: what its store holds, and what came over the link since its start.
#pragma once

#include <cstdint>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

enum class receiver_is : std::uint8_t { running, ended, ended_with_a_whole_store };

/// What was stored and is not there any more is counted as shed. That a store is whole needs a look
/// at the files; where it is not known what they hold, the ledger is not clean.
[[nodiscard]] ledger account_of(const store_writer& store, const receive_counters& c,
                                receiver_is now);

} // namespace l3
