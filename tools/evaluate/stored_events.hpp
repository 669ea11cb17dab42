// SPDX-License-Identifier: Apache-2.0
// The events of a store or a spool, one after the other, each with the header of its block. A block
// that stands there twice, as in a file that was copied, is read once, from a copy that is whole.
// What cannot be read is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_name.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// What was left out.
struct unreadable_parts {
  std::uint64_t places = 0; ///< where no block begins, or a block is not what its header says
  std::uint64_t blocks = 0; ///< whose payload is not what was written, in any copy that is there
  std::uint64_t events = 0; ///< in these, and others that break a rule of the format
  /// No loss: a receiver may be writing there. That of a complete file is among `files`, too.
  std::vector<torn_end> torn_ends;
  std::vector<std::string> files;    ///< a sentence on each that is missing, or lacks blocks
  std::vector<std::string> misnamed; ///< a sentence on each; nothing is missing there
  payload_tally limited; ///< events of which not all waveforms were kept; they are whole otherwise
  std::map<std::uint32_t, std::string> lines; ///< names of those that limited events
  std::uint64_t duplicated_blocks = 0; ///< which stand in the folder once more, and were read there
  std::uint64_t duplicated = 0;        ///< events in these
  std::uint64_t damaged_copies = 0;    ///< damaged blocks of which another copy was read

  /// Nothing is lost: what is duplicated is not.
  [[nodiscard]] bool none() const { return places + blocks + events + files.size() == 0; }
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
  struct damaged_block {
    std::uint64_t copies = 0;
    std::uint64_t events = 0; ///< in one of them
  };

  [[nodiscard]] bool next_block();

  store_reader in_;
  progress line_;
  std::uint64_t bytes_ = 0;
  block_header block_;
  std::vector<std::byte> payload_;
  event_walk walk_{{}, {}};
  std::map<block_name, bool> seen_; ///< blocks that were read; true: not only an empty one
  std::map<block_name, damaged_block> damaged_;
  unreadable_parts lost_;
};

} // namespace l3
