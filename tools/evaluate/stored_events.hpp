// SPDX-License-Identifier: Apache-2.0
// The settings of each session in a store or a spool. Several blocks of a session have copies of
// them; damaged copies are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "selection/trigger/recorded_settings.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/format/block.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// The known settings of one session.
struct told_settings {
  std::shared_ptr<const recorded_settings> all; ///< shared by sessions of a menu; null: unknown
  const std::vector<std::byte>* bytes = nullptr;
  std::string fault; ///< why they are unknown
};

class stored_settings {
public:
  /// Reads the headers of all blocks, and the settings. Throws like store_reader, and command_error
  /// after a signal.
  stored_settings(const std::filesystem::path& folder, interrupt& signals);

  /// Reads the folder again for a session that has come since.
  [[nodiscard]] const told_settings& of(const block_header& h);
  /// All known settings, each once.
  [[nodiscard]] std::vector<std::shared_ptr<const recorded_settings>> known() const;
  /// The names of their lines by id, and of the built-in selection's lines for sessions with
  /// unknown settings.
  [[nodiscard]] std::map<std::uint32_t, std::string> line_names() const;

private:
  void read();

  std::filesystem::path folder_;
  interrupt& signals_;
  std::map<std::vector<std::byte>, std::shared_ptr<const recorded_settings>> known_;
  std::map<std::uint64_t, told_settings> sessions_; ///< by number
};

/// The readout in the settings of this store; KOTO's if the blocks with settings are damaged.
/// Throws command_error if two differ.
[[nodiscard]] readout stored_readout(const std::filesystem::path& folder, interrupt& signals);

// Iterates over the events of a store or a spool, each with the header of its block. Skips and
// counts unreadable parts.

/// The skipped parts of a store.
struct unreadable_parts {
  std::uint64_t places = 0; ///< without a block, or with a block that differs from its header
  std::uint64_t blocks = 0; ///< with a damaged payload
  std::uint64_t events = 0; ///< in these blocks, and others that violate the format
  std::vector<torn_end> torn_ends;            ///< no loss: a receiver may be writing there
  payload_tally limited;                      ///< otherwise whole events with missing waveforms
  std::map<std::uint32_t, std::string> lines; ///< names of the lines that limited events
  /// Whether nothing is lost.
  [[nodiscard]] bool none() const { return places + blocks + events == 0; }
};

/// Reports the skipped parts on standard error. Returns exit code 0 if no event is missing, or
/// damage is accepted.
[[nodiscard]] int tell(const unreadable_parts& lost, bool skip_damaged);

class stored_events {
public:
  /// `label`: the command's name for the progress line. Throws like store_reader.
  stored_events(const std::filesystem::path& folder, const char* label, interrupt& signals);

  /// The next event, valid until the next call; nothing at the end. Throws command_error after a
  /// signal.
  [[nodiscard]] std::optional<packed_event_view> next();
  /// The block header of the last event.
  [[nodiscard]] const block_header& block() const { return block_; }
  /// Complete once next() returns nothing.
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

// Runs a selection over a store or a spool: every event is decided again, in the order of storage,
// with the run of its block. Skips and counts unreadable parts. The selection is given, or it comes
// from the settings stored with the events. In the second case each event is compared with the
// stored decision bit by bit, or refused with a reason.

/// Calls f for each event. Throws command_error, also for an event that does not fit the readout.
unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals);

struct recorded_event {
  std::uint32_t run = 0;
  event_key key;
  const block_selector* by = nullptr; ///< null: not decided
  const decided_event* now = nullptr;
  bool as_stored = false; ///< the summary is identical
  std::string refusal;    ///< why it is not decided; also empty if no selection ran
};

/// Calls f for each event in the order of storage. `how` selects the executor. Throws
/// command_error.
unreadable_parts for_each_recorded(const std::filesystem::path& folder,
                                   const selection_options& how,
                                   const std::function<void(const recorded_event&)>& f,
                                   interrupt& signals);

} // namespace l3
