// SPDX-License-Identifier: Apache-2.0
// Compares a sent .l2raw file with a store, fragment by fragment and byte for byte; where a
// selection ran, also with its decision and summary of each event. Of an event that did not keep
// all its waveforms, it compares what is there, and where a selection is given also which these
// are. Reads events one at a time through an index of the store, so that memory does not grow with
// their size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/replay/file_fault.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

/// A selection's decision on an event.
struct expected_event {
  bool kept = true;
  std::vector<std::byte> summary; ///< as it is stored with the event
  std::uint32_t payload_crc = 0;  ///< crc_of_payload()
};

/// The decisions on all events of a file, in its order, by the run for which they hold: prescales
/// and calibration go by the run.
using expected_events = std::map<std::uint32_t, std::vector<expected_event>>;

struct comparison {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0; ///< of the records of these events
  std::uint64_t stored = 0;
  std::uint64_t equal = 0;
  std::uint64_t rejected = 0;   ///< by the selection, and not stored
  std::uint64_t missing = 0;    ///< sent, not stored
  std::uint64_t extra = 0;      ///< stored, and not sent, or rejected by the selection
  std::uint64_t different = 0;  ///< stored, but not with the bytes that were sent
  std::uint64_t duplicated = 0; ///< stored once more by the same daemon
  std::uint64_t repeated = 0;   ///< sent again to another start of a daemon, and stored again
  std::uint64_t damaged = 0;    ///< unreadable places in the store
  /// Events that the ledgers say are stored, and that are in no place that could be read; nothing:
  /// no ledger says so.
  std::optional<std::uint64_t> unreadable;
  std::string sent_damage;           ///< damage before the end of the .l2raw file, as fault_of()
  bool skip_damaged = false;         ///< what is damaged is left out
  left_out sent_left_out;            ///< only then
  std::uint64_t unchecked = 0;       ///< only then: stored, and perhaps sent where damage is
  payload_tally payloads;            ///< events that are stored without some of their waveforms
  std::vector<std::string> examples; ///< the first few differences

  /// Whether each daemon stored every event that was sent and not rejected once, with its bytes,
  /// and no other; of what could be read, where damage is skipped: no more may be missing than
  /// was in what could not be read.
  [[nodiscard]] bool holds() const {
    const bool in_damage = skip_damaged && damaged > 0;
    const std::uint64_t may_miss = in_damage ? unreadable.value_or(0) : 0;
    return equal + rejected + missing == sent && missing <= may_miss && extra == 0 &&
           different == 0 && duplicated == 0 && (damaged == 0 || in_damage) && sent_damage.empty();
  }
};

/// `loops`: how often the file was sent, with spill numbers that went on. `expected`: the decisions
/// on the events of one loop for each run of `stored`; empty: all are kept. A stored event is
/// judged by its run, one that is not stored by the runs that have events of its spill, or by all
/// if none has: it is missing if one of them keeps it. `skip_damaged`: go on behind damage.
/// `progress` gets the number of events compared. Throws std::runtime_error if a file cannot be
/// opened or is not an .l2raw file, or if the spill numbers wrapped, so that two events have one
/// name.
[[nodiscard]] comparison compare(const std::filesystem::path& sent_file,
                                 const std::filesystem::path& store_folder,
                                 const event_index& stored, std::uint32_t loops,
                                 const expected_events& expected, bool skip_damaged,
                                 const std::function<void(std::uint64_t)>& progress);

} // namespace l3
