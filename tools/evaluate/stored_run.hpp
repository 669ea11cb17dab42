// SPDX-License-Identifier: Apache-2.0
// A selection run over a store or a spool: every event is decided again, in the order in which it
// is stored, with the run that its block names. What cannot be read is left out and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "tools/evaluate/block_selector.hpp"
#include "tools/verify/payload_tally.hpp"

namespace l3 {

/// What was left out.
struct unreadable_parts {
  std::uint64_t places = 0; ///< where no block begins, or a block is not what its header says
  std::uint64_t blocks = 0; ///< whose payload is not what was written
  std::uint64_t events = 0; ///< in these, and others that break a rule of the format
  std::uint64_t torn_ends = 0;
  payload_tally limited; ///< events of which not all waveforms were kept; they are whole otherwise

  [[nodiscard]] bool none() const { return places + blocks + events + torn_ends == 0; }
};

/// Calls f for each event. Throws command_error; an event that does not fit the readout ends it.
unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals);

} // namespace l3
