// SPDX-License-Identifier: Apache-2.0
// Whether the ledgers of replay client, daemon and receiver balance and agree with each other and
// with the store.
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

/// Of a program that writes a store: it lies there, and is of all of it.
[[nodiscard]] inline bool is_of_store(const ledger& l) { return l.program == receive_program; }

/// Two figures that must be equal, but for what is not known.
struct agreement {
  std::string what;
  std::uint64_t one = 0;
  std::uint64_t other = 0;
  enum class counted_in : std::uint8_t {
    ledgers,
    store, ///< in events
    bytes_of_store,
    file
  } other_is = counted_in::ledgers;
  std::uint64_t unknown = 0; ///< so many may be in `other` alone

  [[nodiscard]] bool holds() const { return other >= one && other - one <= unknown; }
};

/// Where damage was stepped over: what is counted there may be less than what a ledger says.
struct damage_of {
  bool store = false;
  bool file = false;
};

[[nodiscard]] bool hold(std::span<const agreement> agreements, const damage_of& skipped = {});

/// Events that the ledgers say are stored, and that were not found there: by the receiver's final
/// ledger, else by the daemons'. Nothing: no ledger says how many are stored.
[[nodiscard]] std::optional<std::uint64_t> unreadable_events(std::span<const agreement> agreements);

/// The sessions of these runs.
[[nodiscard]] std::vector<event_index::session>
sessions_of_runs(const std::set<std::uint32_t>& runs, std::span<const event_index::session> stored);

/// Sessions of the store that no daemon's ledger names, if there is a ledger: these starts of a
/// daemon were killed, and what they admitted is unknown.
[[nodiscard]] std::size_t sessions_without_ledger(std::span<const ledger> ledgers,
                                                  std::span<const event_index::session> stored);

/// Events that this daemon left on disk, and that later ones delivered.
[[nodiscard]] std::uint64_t delivered_later(std::span<const ledger> ledgers, const ledger& l);

/// What is known beside ledgers and sessions.
struct known_of_run {
  std::uint64_t came_again = 0;                ///< events that two starts admitted, sent once
  std::optional<std::uint64_t> events_in_file; ///< as often as it was to be sent
  store_kind kind = store_kind::store;         ///< a spool holds what was not forwarded yet
  std::optional<std::set<std::uint32_t>> runs; ///< that are compared; nothing: all
  std::optional<std::uint64_t> bytes_in_file;  ///< of the records of these events
};

/// By which way the data came to a daemon. Its ledger alone does not say whether some came over TCP
/// besides UDP.
enum class came_by : std::uint8_t { udp_alone, any };
/// Sums that hold within one ledger (docs/formats.md, section 10): what became of its events, of
/// its fragments and of its datagrams, and whether its crates and its spills add up to the whole. A
/// figure of which only a bound is known is among them where it is beyond the bound.
[[nodiscard]] std::vector<agreement> own_sums(const ledger& l, came_by way);

/// Compares input with sent data only if each start of a daemon left its ledger, and a replay's
/// ledger with the file only if there is one.
[[nodiscard]] std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                                   std::span<const event_index::session> stored,
                                                   const known_of_run& known = {});

} // namespace l3
