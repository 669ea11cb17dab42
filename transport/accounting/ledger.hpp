// SPDX-License-Identifier: Apache-2.0
// A program's account of a run (docs/formats.md, section 10): the outcome of every datagram,
// fragment and event. Daemon, replay client and receiver write the same form; `koto-l3 verify`
// compares them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

/// Counts by the name of a reason.
using reason_counts = std::map<std::string, std::uint64_t, std::less<>>;

struct fragment_account {
  std::uint64_t seen = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  reason_counts malformed;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;

  friend bool operator==(const fragment_account&, const fragment_account&) = default;
};

/// A crate's part of a daemon's fragments, and counts that show a faulty crate.
struct crate_account {
  std::uint64_t crate = 0; ///< its number
  std::uint64_t seen = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  reason_counts malformed;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t missing = 0; ///< this and the following as in building_counters
  std::uint64_t overdue = 0;
  std::uint64_t alone = 0;
  std::uint64_t astray = 0;

  friend bool operator==(const crate_account&, const crate_account&) = default;
};

struct event_account {
  std::uint64_t admitted = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t rejected = 0;
  reason_counts shed;
  std::uint64_t in_flight = 0;

  friend bool operator==(const event_account&, const event_account&) = default;
};

struct datagram_account {
  std::uint64_t received = 0;
  std::uint64_t data = 0;
  std::uint64_t trailers = 0;
  std::uint64_t end_of_spill = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t late = 0;
  std::uint64_t kernel_drops = 0;
  reason_counts malformed;

  friend bool operator==(const datagram_account&, const datagram_account&) = default;
};

struct byte_account {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  reason_counts payloads; ///< of a daemon: `out` by the payload that is kept; or empty

  friend bool operator==(const byte_account&, const byte_account&) = default;
};

struct spill_account {
  std::uint32_t spill = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  std::optional<std::uint64_t> expected; ///< number that the senders gave at the end of the spill
  std::uint64_t missing = 0; ///< of these, events of which nothing came; not in the file

  friend bool operator==(const spill_account&, const spill_account&) = default;
};

/// Events of a daemon that are not in `spills`.
struct earlier_spills_account {
  std::uint64_t spills = 0;   ///< no longer listed
  std::uint64_t admitted = 0; ///< of these, and of spills before the current ones
  std::uint64_t incomplete = 0;
  std::uint64_t missing = 0; ///< as in spill_account

  friend bool operator==(const earlier_spills_account&, const earlier_spills_account&) = default;
};

/// A daemon's events on disk.
struct spool_account {
  struct lane {
    std::uint64_t session = 0;
    std::uint64_t delivered = 0; ///< stored by the receiver during this process
    std::uint64_t damaged = 0;   ///< lost on disk

    friend bool operator==(const lane&, const lane&) = default;
  };
  std::uint64_t waiting = 0; ///< of this process, with those in flight; the next start finds them
  std::uint64_t found = 0;   ///< from earlier processes, at the start
  std::uint64_t gone = 0;    ///< acknowledged blocks that are in no file any more
  std::vector<lane> lanes;   ///< from earlier processes

  friend bool operator==(const spool_account&, const spool_account&) = default;
};

struct ledger {
  std::string program; ///< koto-l3d, replay or receive
  std::uint32_t run = 0;
  /// A daemon's sessions: of its outbox and, if it has one, of its spool. Empty for a replay
  /// client.
  std::vector<std::uint64_t> sessions;
  bool ended = false;  ///< the program ended in order, with or without losses, so this is final
  bool clean = false;  ///< it ended with nothing in flight and nothing lost
  std::string menu;    ///< of a daemon's run: file and hash of its selection; empty: no selection
  std::string comment; ///< a person's comment on the run
  /// Events that no line kept, of a daemon whose selection records.
  std::optional<std::uint64_t> recorded;
  /// A daemon's events of which nothing came, although crates counted them in their ends of spill.
  std::optional<std::uint64_t> missing;
  fragment_account fragments;
  event_account events;
  datagram_account datagrams;
  byte_account bytes;
  std::vector<crate_account> crates;  ///< of a daemon, in the order of the readout
  std::optional<spool_account> spool; ///< of a daemon with a spool
  std::vector<spill_account> spills;  ///< the latest
  earlier_spills_account earlier_spills;

  friend bool operator==(const ledger&, const ledger&) = default;

  /// Whether both conservation sums hold, and bytes by payload add up to the total.
  [[nodiscard]] bool balanced() const;
};

[[nodiscard]] std::uint64_t sum_of(const reason_counts& counts);

// The conservation sums of docs/architecture.md, left side minus right side: 0 if everything is
// accounted for. Fragments of unfinished events are not in the account.
[[nodiscard]] std::int64_t unaccounted(const event_account& e);
[[nodiscard]] std::int64_t unaccounted(const fragment_account& f);

/// The form used everywhere: 16 hexadecimal digits.
[[nodiscard]] std::string session_text(std::uint64_t session);
/// "2026-11-23 08:15:00 UTC"
[[nodiscard]] std::string utc_text(std::uint64_t ns_since_1970);

/// Counts for every reason of the enumeration, including zeros, so that a reader sees the whole
/// list.
template <template <class> class Counters, class Reason>
[[nodiscard]] reason_counts counts_of(const Counters<Reason>& counters) {
  reason_counts counts;
  for (std::size_t i = 0; i < enumerators<Reason>; ++i)
    counts.emplace(names_of<Reason>[i], counters[static_cast<Reason>(i)]);
  return counts;
}

// Fill the sections of a ledger from the counters. The caller counts `events.in_flight`
// independently: if it were computed from the others, the sum would always hold.
void add_input(ledger& to, const input_counters& input); ///< for each input
void set_building(ledger& to, const building_counters& building);
void set_crates(ledger& to, const building_counters& building, const readout& crates);
void set_outcomes(ledger& to, const outcome_counters& outcomes);

[[nodiscard]] std::string to_json(const ledger& l);
/// Throws std::runtime_error with a text that says what is wrong. Computes `balanced` from the
/// figures and refuses a ledger with another value.
[[nodiscard]] ledger ledger_from_json(std::string_view text);

/// Whether a file with these first 64 bytes is a ledger of this program.
[[nodiscard]] bool is_ledger_of(std::string_view program, std::string_view begin);

/// Whether the name, without its folder, is reserved for a file of a store or spool, such as
/// blocks-000001-run000007-node3.json. A ledger may not have such a name: it would replace a data
/// file, or be read as one.
[[nodiscard]] constexpr bool is_name_of_stored_data(std::string_view name) {
  for (const std::string_view beginning : {"blocks-", "spool-"})
    if (name.starts_with(beginning) && name.size() > beginning.size() &&
        name[beginning.size()] >= '0' && name[beginning.size()] <= '9')
      return true;
  return name.find(".kl3") != name.npos;
}

/// Atomic: a reader finds the old ledger or the new one. Throws std::system_error.
void write_ledger(const std::filesystem::path& path, const ledger& l);
/// Throws std::runtime_error with the name of the file.
[[nodiscard]] ledger read_ledger(const std::filesystem::path& path);

} // namespace l3
