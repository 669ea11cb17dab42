// SPDX-License-Identifier: Apache-2.0
// The account that a program gives at the end of a run (docs/formats.md, section 10): where every
// datagram, fragment and event went. Daemon, replay client and receiver write the same form;
// `koto-l3 verify` compares them.
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

/// The largest figure of a ledger, and of what a peer's claim adds to a counter. Programs that
/// count from 1 do not come near it, and sums of such figures do not overflow.
inline constexpr std::uint64_t most_counted = std::uint64_t{1} << 53;

struct fragment_account {
  std::uint64_t seen = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  reason_counts malformed;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;

  friend bool operator==(const fragment_account&, const fragment_account&) = default;
};

/// A crate's part of a daemon's fragments, and what tells it from the others.
struct crate_account {
  std::uint64_t crate = 0; ///< its number
  std::uint64_t seen = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  reason_counts malformed;
  std::uint64_t late = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t missing = 0; ///< this and the rest: as in building_counters
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
  reason_counts payloads; ///< of a daemon: `out` by what is kept of an event; or empty

  friend bool operator==(const byte_account&, const byte_account&) = default;
};

struct spill_account {
  std::uint32_t spill = 0;
  std::uint64_t admitted = 0;
  std::uint64_t incomplete = 0;
  std::optional<std::uint64_t> expected; ///< as the senders said at the end of the spill

  friend bool operator==(const spill_account&, const spill_account&) = default;
};

/// Events of a daemon that are in no object of `spills`.
struct earlier_spills_account {
  std::uint64_t spills = 0;   ///< that are no longer listed
  std::uint64_t admitted = 0; ///< of these, and of spills before those that were being taken
  std::uint64_t incomplete = 0;

  friend bool operator==(const earlier_spills_account&, const earlier_spills_account&) = default;
};

/// A daemon's events on disk.
struct spool_account {
  struct lane {
    std::uint64_t session = 0;
    std::uint64_t delivered = 0; ///< stored by the receiver in this process's life
    std::uint64_t damaged = 0;   ///< lost on disk

    friend bool operator==(const lane&, const lane&) = default;
  };
  std::uint64_t waiting = 0; ///< of this process's events, those in flight that a next start finds
  std::uint64_t found = 0;   ///< at the start, of earlier processes
  std::uint64_t gone = 0;    ///< blocks that were called safe, and that no file has any more
  std::vector<lane> lanes;   ///< of earlier processes

  friend bool operator==(const spool_account&, const spool_account&) = default;
};

struct ledger {
  std::string program; ///< koto-l3d, replay or receive
  std::uint32_t run = 0;
  /// A daemon's own: of its outbox, and of its spool if it has one; none in a replay client's.
  std::vector<std::uint64_t> sessions;
  bool ended = false;  ///< written when the program ended in order, whatever it lost: it says all
  bool clean = false;  ///< it ended, with nothing under way and nothing lost
  std::string menu;    ///< of a daemon's run: file and hash of its selection; empty: none
  std::string comment; ///< of a person, on the run
  /// Of a daemon whose selection records: events that no line kept.
  std::optional<std::uint64_t> recorded;
  fragment_account fragments;
  event_account events;
  datagram_account datagrams;
  byte_account bytes;
  std::vector<crate_account> crates;  ///< of a daemon, in the order of the readout
  std::optional<spool_account> spool; ///< of a daemon that has one
  std::vector<spill_account> spills;  ///< the latest
  earlier_spills_account earlier_spills;

  friend bool operator==(const ledger&, const ledger&) = default;

  /// Both conservation sums hold, and bytes by payload add up to all of them.
  [[nodiscard]] bool balanced() const;
};

[[nodiscard]] std::uint64_t sum_of(const reason_counts& counts);

// The conservation sums of docs/architecture.md, left side minus right side: 0 if all is accounted
// for. Fragments of events that are being built are not in the account.
[[nodiscard]] std::int64_t unaccounted(const event_account& e);
[[nodiscard]] std::int64_t unaccounted(const fragment_account& f);

/// As it is written everywhere: 16 hexadecimal digits.
[[nodiscard]] std::string session_text(std::uint64_t session);

/// Every reason of the enumeration, zeros included: a reader sees the whole closed list.
template <template <class> class Counters, class Reason>
[[nodiscard]] reason_counts counts_of(const Counters<Reason>& counters) {
  reason_counts counts;
  for (std::size_t i = 0; i < enumerators<Reason>; ++i)
    counts.emplace(names_of<Reason>[i], counters[static_cast<Reason>(i)]);
  return counts;
}

// Fill the sections of a ledger from the counters. The caller counts `events.in_flight` by itself:
// if it were made from the others, the sum would always hold.
void add_input(ledger& to, const input_counters& input); ///< once for each input
void set_building(ledger& to, const building_counters& building);
void set_crates(ledger& to, const building_counters& building, const readout& crates);
void set_outcomes(ledger& to, const outcome_counters& outcomes);

[[nodiscard]] std::string to_json(const ledger& l);
/// Throws std::runtime_error with what is wrong. `balanced` is computed from the figures; a ledger
/// that says otherwise is refused.
[[nodiscard]] ledger ledger_from_json(std::string_view text);

/// Whether a file with these first 64 bytes is a ledger that this program wrote.
[[nodiscard]] bool is_ledger_of(std::string_view program, std::string_view begin);

/// A name that no ledger may have. A ledger takes the place of the file of its name, and a store or
/// a spool makes its files when it needs them: one would replace the other, or be read as one. Of a
/// file's name without its folder: a store or a spool may give it to a file of its own, as
/// blocks-000001-run000007-node3.json.
[[nodiscard]] constexpr bool is_name_of_stored_data(std::string_view name) {
  for (const std::string_view beginning : {"blocks-", "spool-"})
    if (name.starts_with(beginning) && name.size() > beginning.size() &&
        name[beginning.size()] >= '0' && name[beginning.size()] <= '9')
      return true;
  return name.find(".kl3") != name.npos;
}

/// All or nothing: a reader finds the old ledger or the new one. Throws std::system_error.
void write_ledger(const std::filesystem::path& path, const ledger& l);
/// Throws std::runtime_error that names the file.
[[nodiscard]] ledger read_ledger(const std::filesystem::path& path);

} // namespace l3
