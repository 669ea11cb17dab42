// SPDX-License-Identifier: Apache-2.0
// Checks whether the ledgers of replay client, daemon and receiver balance and agree with each
// other and with the store.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "transport/accounting/ledger.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

/// The programs' names in ledgers.
inline constexpr const char* replay_program = "replay";
inline constexpr const char* daemon_program = "koto-l3d";
inline constexpr const char* receive_program = "receive";

/// The writer's ledger. It lies in the store and covers all of it.
[[nodiscard]] inline bool is_of_store(const ledger& l) { return l.program == receive_program; }

/// Two counts that must be equal, except for unknown parts.
struct agreement {
  std::string what;
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  enum class counted_in : std::uint8_t {
    ledgers,
    store, ///< in events
    bytes_of_store
  } other_is = counted_in::ledgers;
  std::uint64_t unknown = 0; ///< `other` may be larger by up to this

  [[nodiscard]] bool holds() const { return other >= one && other - one <= unknown; }
};

/// `store_damaged`: damage was skipped there, so its counts may be lower than in a ledger.
[[nodiscard]] bool hold(std::span<const agreement> agreements, bool store_damaged = false);

/// Events that are missing in the store although a ledger says that they are stored: the receiver's
/// final ledger, else the daemons'. Nothing if no ledger has the number of stored events.
[[nodiscard]] std::optional<std::uint64_t> unreadable_events(std::span<const agreement> agreements);

/// The sessions of these runs.
[[nodiscard]] std::vector<event_index::session>
sessions_of_runs(const std::set<std::uint32_t>& runs, std::span<const event_index::session> stored);

/// Sessions of the store that are in no daemon's ledger, if there is any ledger. These starts of a
/// daemon were killed, and the events that they admitted are unknown.
[[nodiscard]] std::size_t sessions_without_ledger(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored);

/// Events that this daemon left on disk and later ones delivered.
[[nodiscard]] std::uint64_t delivered_later(std::span<const ledger> ledgers, const ledger& l);

/// Facts besides ledgers and sessions.
struct known_of_run {
  std::uint64_t came_again = 0;                ///< events sent once that two starts admitted
  std::optional<std::uint64_t> events_in_file; ///< times the number of loops
  store_kind kind = store_kind::store;         ///< a spool has what was not forwarded yet
  std::optional<std::set<std::uint32_t>> runs; ///< the compared ones; nothing: all
  std::optional<std::uint64_t> bytes_in_file;  ///< of the records of these events
};

/// How the data came to a daemon. Its ledger alone does not show whether some came over TCP besides
/// UDP.
enum class came_by : std::uint8_t { udp_alone, any };
/// Sums that hold within one ledger (docs/formats.md, section 10): the outcomes of its events,
/// fragments and datagrams, and the sums over its crates and spills. A count with only an upper
/// bound is listed if it exceeds the bound.
[[nodiscard]] std::vector<agreement> own_sums(const ledger& l, came_by way);

/// Compares input with sent data only if each start of a daemon left a ledger, and a replay's
/// ledger with the file only if there is one.
[[nodiscard]] std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                                   std::span<const event_index::session> stored,
                                                   const known_of_run& known = {});

/// Mistakes in the choice of ledgers whose counts agree: another run, another program, the same
/// start twice, or a missing ledger of the store. Each gives a sentence, and `verify` fails.
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
