// SPDX-License-Identifier: Apache-2.0
// A receiver's ledger: what its store holds, and what came over the link since its start.
#pragma once

#include "transport/accounting/ledger.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

/// What was stored and is not there any more is counted as shed. `clean` needs a look at the files;
/// where it is not known what they hold, the ledger is not clean.
[[nodiscard]] ledger account_of(const store_writer& store, const receive_counters& c, bool clean);

} // namespace l3
