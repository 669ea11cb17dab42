// SPDX-License-Identifier: Apache-2.0
// Compares a sent .l2raw file with a store, fragment by fragment and byte for byte; with a
// selection, also its decision and summary of each event. For an event with missing waveforms, it
// compares the kept ones, and with a selection also which ones are kept. Reads one event at a time
// through an index of the store, so that memory does not grow with their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tools/verify/agreement.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

/// A selection's decision on an event.
struct expected_event {
  bool kept = true;
  std::vector<std::byte> summary; ///< as stored with the event
  std::uint32_t payload_crc = 0;  ///< crc_of_payload()
};

/// The decisions on all events of a file in order, by run, because prescales and calibration depend
/// on the run.
using expected_events = std::map<std::uint32_t, std::vector<expected_event>>;

struct comparison {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0; ///< of the records of these events
  std::uint64_t stored = 0;
  std::uint64_t equal = 0;
  std::uint64_t rejected = 0;   ///< rejected by the selection and not stored
  std::uint64_t missing = 0;    ///< sent but not stored
  std::uint64_t extra = 0;      ///< stored but not sent, or rejected by the selection
  std::uint64_t different = 0;  ///< stored with other bytes than sent
  std::uint64_t duplicated = 0; ///< stored again by the same daemon
  std::uint64_t repeated = 0;   ///< sent again to another start of a daemon, and stored again
  std::uint64_t damaged = 0;    ///< unreadable places in the store
  /// Events that the ledgers count as stored, but that are in no readable place; nothing if no
  /// ledger counts them.
  std::optional<std::uint64_t> unreadable;
  std::string sent_damage;           ///< damage before the end of the .l2raw file, see fault_of()
  bool skip_damaged = false;         ///< damage of the store is skipped
  payload_tally payloads;            ///< events stored without some of their waveforms
  std::vector<std::string> examples; ///< the first differences

  /// Whether each daemon stored every sent and not rejected event exactly once, and no other. If
  /// damage is skipped, no more events may be missing than the unreadable parts had.
  [[nodiscard]] bool holds() const {
    const bool in_damage = skip_damaged && damaged > 0;
    const std::uint64_t may_miss = in_damage ? unreadable.value_or(0) : 0;
    return equal + rejected + missing == sent && missing <= may_miss && extra == 0 &&
           different == 0 && duplicated == 0 && (damaged == 0 || in_damage) && sent_damage.empty();
  }
};

/// `loops`: how often the file was sent, with increasing spill numbers. `expected`: the decisions
/// on the events of one loop for each run of `stored`; empty: all are kept. A stored event is
/// judged by its run. An event that is not stored is missing if one of the runs with events of its
/// spill keeps it; if no run has events of its spill, every run is asked. `skip_damaged`: skips
/// damaged blocks of the store. `progress` is called with the number of events compared. Throws
/// std::runtime_error if a file cannot be opened or is no .l2raw file, or if spill numbers wrapped,
/// so that two events have the same key.
[[nodiscard]] comparison compare(const std::filesystem::path& sent_file,
                                 const std::filesystem::path& store_folder,
                                 const event_index& stored, std::uint32_t loops,
                                 const expected_events& expected, bool skip_damaged,
                                 const std::function<void(std::uint64_t)>& progress);

// Selects the runs of a store that are compared with the sent data. Spill and event number identify
// an event only within a run: two runs may have different events with the same numbers.

/// The `named` runs; else those of the daemons whose ledgers are given; else all, unless several
/// have events with the same numbers. Throws std::runtime_error in that case, and if a named run is
/// not stored.
[[nodiscard]] std::set<std::uint32_t> runs_to_compare(std::span<const std::uint32_t> named,
                                                      std::span<const given_ledger> ledgers,
                                                      const event_index& stored);

/// "run 3", "runs 3, 4 and 7"; "no run".
[[nodiscard]] std::string words_of(const std::set<std::uint32_t>& runs);

/// Why events are missing in the store, according to the daemons' ledgers. They also show which
/// events came to two starts of a daemon: a TCP sender repeats unacknowledged events, which is no
/// disagreement.
struct event_fates {
  // Missing events.
  std::uint64_t shed = 0;       ///< and not sent again
  std::uint64_t rejected = 0;   ///< 0 with a given selection: they are not missing then
  std::uint64_t left = 0;       ///< on disk or in flight at the daemon's end, not delivered since
  std::uint64_t incomplete = 0; ///< not admitted: a crate's fragment was missing or malformed
  std::uint64_t unknown = 0;    ///< for no known reason
  // Events that were sent to one start of a daemon, and again to another.
  std::uint64_t shed_and_again = 0; ///< shed(drain), so not acknowledged
  std::uint64_t stored_and_again = 0;

  [[nodiscard]] std::uint64_t came_again() const { return shed_and_again + stored_and_again; }
};

/// Nothing without a daemon's ledger. Events count as repeated only if that explains exactly the
/// excess of admitted over sent events, and of lost over missing ones. `selected`: a selection was
/// given, so rejections are known.
[[nodiscard]] std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored,
                                                  const comparison& compared, bool selected);

} // namespace l3
