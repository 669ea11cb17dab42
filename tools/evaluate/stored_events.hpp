// SPDX-License-Identifier: Apache-2.0
// The events of a store or a spool, one after the other, each with the header of its block. What
// cannot be read is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// What was left out.
struct unreadable_parts {
  std::uint64_t places = 0; ///< where no block begins, or a block is not what its header says
  std::uint64_t blocks = 0; ///< whose payload is not what was written
  std::uint64_t events = 0; ///< in these, and others that break a rule of the format
  std::vector<torn_end> torn_ends; ///< no loss: a receiver may be writing there
  payload_tally limited; ///< events of which not all waveforms were kept; they are whole otherwise
  std::map<std::uint32_t, std::string> lines; ///< names of those that limited events
  /// Nothing is lost.
  [[nodiscard]] bool none() const { return places + blocks + events == 0; }
};

/// Says on standard error what was left out. The exit code: 0 if no event is missing, or what is
/// damaged may be.
[[nodiscard]] int tell(const unreadable_parts& lost, bool skip_damaged);

class stored_events {
public:
  /// `label` is the command's name in its line of progress. Throws like store_reader.
  stored_events(const std::filesystem::path& folder, const char* label, interrupt& signals);

  /// The next event, valid until the next call; nothing at the end. Throws command_error after a
  /// signal.
  [[nodiscard]] std::optional<packed_event_view> next();
  /// The header of the block of the event that next() gave last.
  [[nodiscard]] const block_header& block() const { return block_; }
  /// Once next() gives nothing.
  [[nodiscard]] unreadable_parts left_out() const;

private:
  [[nodiscard]] bool next_block();

  store_reader in_;
  progress line_;
  std::uint64_t bytes_ = 0;
  block_header block_;
  std::vector<std::byte> payload_;
  event_walk walk_{{}, {}};
  unreadable_parts lost_;
};

} // namespace l3
