// SPDX-License-Identifier: Apache-2.0
// Mistakes in the choice of ledgers whose counts agree: another run, another program, the same
// start twice, or a missing ledger of the store. Each gives a sentence, and `verify` fails.
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
  bool of_folder = false; ///< it lies in the verified folder
};

/// The data that the ledgers are compared with.
struct compared_data {
  std::uint32_t run_sent = 0; ///< of the .l2raw file
  std::string folder;
  store_kind kind = store_kind::store;
  std::span<const event_index::session> stored;
  std::set<std::uint32_t> runs_not_compared; ///< runs that are also stored
};

[[nodiscard]] std::vector<std::string> objections_to(std::span<const given_ledger> ledgers,
                                                     const compared_data& data);

} // namespace l3
