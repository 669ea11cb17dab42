// SPDX-License-Identifier: Apache-2.0
// What is wrong with ledgers although their figures agree: they are of another run, of another
// program, of the same start twice, or the store's own is missing. Each is a sentence, and `verify`
// fails for each.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

struct given_ledger {
  std::string path;
  ledger content;
  bool of_folder = false; ///< it lies in the folder that is verified
};

/// With what the ledgers are compared.
struct compared_data {
  std::uint32_t run_sent = 0; ///< of the .l2raw file
  std::string folder;
  store_kind kind = store_kind::store;
  std::span<const event_index::session> stored;
  std::set<std::uint32_t> runs_not_compared; ///< that are stored, too
};

[[nodiscard]] std::vector<std::string> objections_to(std::span<const given_ledger> ledgers,
                                                     const compared_data& data);

} // namespace l3
