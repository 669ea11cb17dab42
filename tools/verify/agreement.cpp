// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace l3 {

namespace {

/// Sum of a count over the ledgers of a program.
template <class Figure>
std::uint64_t total(std::span<const ledger> ledgers, const char* program, Figure figure) {
  std::uint64_t sum = 0;
  for (const auto& l : ledgers) {
    if (l.program == program) sum += figure(l);
  }
  return sum;
}

bool has(std::span<const ledger> ledgers, const char* program) {
  return std::any_of(ledgers.begin(), ledgers.end(),
                     [&](const ledger& l) { return l.program == program; });
}

/// Whether every daemon ledger is final.
bool daemons_have_ended(std::span<const ledger> ledgers) {
  return std::ranges::all_of(
      ledgers, [](const ledger& l) { return l.program != daemon_program || l.ended; });
}

std::uint64_t events_shed(const ledger& l, shed why) {
  const auto found = l.events.shed.find(name_of(why));
  return found == l.events.shed.end() ? 0 : found->second;
}

/// Events that a daemon had not delivered when it ended, or lost on disk. The receiver may have
/// stored them without the daemon's knowledge.
std::uint64_t not_heard_of(std::span<const ledger> ledgers, const ledger& l) {
  const std::uint64_t open =
      l.events.in_flight + events_shed(l, shed::drain) + events_shed(l, shed::spool);
  return open - std::min(open, delivered_later(ledgers, l));
}

/// As a set, because a ledger or a store may have very many sessions.
std::set<std::uint64_t> sessions_of(const ledger& l) {
  return {l.sessions.begin(), l.sessions.end()};
}

struct stored_sums {
  std::uint64_t events = 0;
  std::uint64_t repeated = 0; ///< events that the receiver left out
  std::uint64_t bytes = 0;    ///< of the other events
};

stored_sums stored_of(std::span<const event_index::session> stored, const ledger& l) {
  stored_sums sums;
  const auto of_ledger = sessions_of(l);
  for (const auto& s : stored) {
    if (!of_ledger.contains(s.number)) continue;
    sums.events += s.events + s.repeated;
    sums.repeated += s.repeated;
    sums.bytes += s.bytes;
  }
  return sums;
}

stored_sums all_of(std::span<const event_index::session> stored) {
  stored_sums sums;
  for (const auto& s : stored) {
    sums.events += s.events;
    sums.bytes += s.bytes;
  }
  return sums;
}

/// A daemon counts an event's bytes when the event enters the outbox. They are all stored if no
/// event was dropped, none waits, and none was left out because another session had stored it.
bool all_is_stored(std::span<const ledger> ledgers, const ledger& l, const stored_sums& in_store) {
  return in_store.repeated == 0 && sum_of(l.events.shed) == 0 &&
         l.events.in_flight <= delivered_later(ledgers, l);
}

/// Whether all data came as datagrams, according to the senders.
bool all_came_by_udp(std::span<const ledger> ledgers) {
  return std::ranges::all_of(ledgers, [](const ledger& l) {
    if (l.program != replay_program) return true;
    return l.ended && (l.events.admitted == 0 || l.datagrams.data > 0);
  });
}

/// Whether the senders reported everything that was sent. Nothing was refused, so no stranger sent,
/// and nothing was repeated, so no sender was killed and restarted.
bool all_came_once(std::span<const ledger> ledgers) {
  return std::ranges::all_of(ledgers, [](const ledger& l) {
    if (l.program == replay_program) return l.ended;
    return l.program != daemon_program ||
           (sum_of(l.datagrams.malformed) == 0 && l.fragments.duplicate == 0);
  });
}

} // namespace

std::vector<event_index::session> sessions_of_runs(const std::set<std::uint32_t>& runs,
                                                   std::span<const event_index::session> stored) {
  std::vector<event_index::session> found;
  std::ranges::copy_if(stored, std::back_inserter(found),
                       [&](const auto& s) { return runs.contains(s.run); });
  return found;
}

std::size_t sessions_without_ledger(std::span<const ledger> ledgers,
                                    std::span<const event_index::session> stored) {
  if (!has(ledgers, daemon_program)) return 0;
  std::set<std::uint64_t> known;
  for (const auto& l : ledgers)
    if (l.program == daemon_program) known.insert(l.sessions.begin(), l.sessions.end());
  return static_cast<std::size_t>(
      std::ranges::count_if(stored, [&](const auto& s) { return !known.contains(s.number); }));
}

std::uint64_t delivered_later(std::span<const ledger> ledgers, const ledger& l) {
  std::uint64_t events = 0;
  const auto of_ledger = sessions_of(l);
  for (const auto& other : ledgers) {
    if (!other.spool) continue;
    for (const auto& lane : other.spool->lanes) {
      if (of_ledger.contains(lane.session)) events += lane.delivered;
    }
  }
  return events;
}

std::vector<agreement> check_ledgers(std::span<const ledger> ledgers,
                                     std::span<const event_index::session> stored,
                                     const known_of_run& known) {
  const auto replays = std::ranges::count(ledgers, replay_program, &ledger::program);
  const bool knows_all_starts =
      has(ledgers, daemon_program) && daemons_have_ended(ledgers) &&
      sessions_without_ledger(ledgers, known.runs ? sessions_of_runs(*known.runs, stored)
                                                  : std::vector(stored.begin(), stored.end())) == 0;
  const bool compares_sent = replays > 0 && knows_all_starts;
  const came_by way = compares_sent && all_came_by_udp(ledgers) ? came_by::udp_alone : came_by::any;
  std::vector<agreement> all;
  for (const auto& l : ledgers) {
    const auto& e = l.events;
    std::ranges::copy(own_sums(l, way), std::back_inserter(all));
    // A daemon's ledger is about its sessions, a receiver's about the whole store. The ledger of a
    // killed or running program may be older than the store, and then has lower counts.
    const auto compare_with_store = [&](std::uint64_t forwarded, std::uint64_t in_store) {
      if (l.ended || forwarded > in_store)
        all.push_back({l.program + ": events forwarded, and stored", forwarded, in_store,
                       agreement::counted_in::store,
                       l.program == daemon_program ? not_heard_of(ledgers, l) : 0});
    };
    const auto compare_bytes = [&](std::uint64_t in_store) {
      all.push_back({l.program + ": bytes of events, and stored", l.bytes.out, in_store,
                     agreement::counted_in::bytes_of_store});
    };
    if (l.program == daemon_program && known.kind == store_kind::store) {
      const stored_sums in_store = stored_of(stored, l);
      compare_with_store(e.forwarded + delivered_later(ledgers, l), in_store.events);
      if (l.ended && (all_is_stored(ledgers, l, in_store) || in_store.bytes > l.bytes.out))
        compare_bytes(in_store.bytes);
    } else if (is_of_store(l)) {
      const stored_sums in_store = all_of(stored);
      compare_with_store(e.forwarded, in_store.events);
      if (l.program == receive_program && (l.ended || l.bytes.out > in_store.bytes))
        compare_bytes(in_store.bytes);
    }
  }
  const std::uint64_t events_sent =
      total(ledgers, replay_program, [](const ledger& l) { return l.events.admitted; });
  if (replays == 1 && known.events_in_file)
    all.push_back({"events sent, and in the file", events_sent, *known.events_in_file});
  const std::uint64_t bytes_sent =
      total(ledgers, replay_program, [](const ledger& l) { return l.bytes.out; });
  // A sender also counts other records and repeats.
  if (replays == 1 && known.bytes_in_file && events_sent == known.events_in_file &&
      total(ledgers, replay_program, [](const ledger& l) { return l.datagrams.data; }) == 0 &&
      bytes_sent < *known.bytes_in_file)
    all.push_back({"bytes sent, and of the events in the file", bytes_sent, *known.bytes_in_file});
  if (compares_sent) {
    const std::uint64_t fragments_sent =
        total(ledgers, replay_program, [](const ledger& l) { return l.fragments.seen; });
    // A repeated event, which was not acknowledged, was sent once. It came with all its fragments
    // to another start.
    const std::uint64_t fragments_seen = total(ledgers, daemon_program, [](const ledger& l) {
      return l.fragments.seen - l.fragments.duplicate;
    });
    const std::uint64_t events_admitted =
        total(ledgers, daemon_program, [](const ledger& l) { return l.events.admitted; });
    const std::uint64_t fragments_again =
        events_sent == 0 ? 0 : known.came_again * (fragments_sent / events_sent);
    all.push_back({"fragments sent, and seen by the daemon", fragments_sent,
                   fragments_seen - std::min(fragments_seen, fragments_again)});
    all.push_back({"events sent, and admitted by the daemon", events_sent,
                   events_admitted - std::min(events_admitted, known.came_again)});
    // Data sent over a broken connection may not have arrived.
    const std::uint64_t bytes_taken =
        total(ledgers, daemon_program, [](const ledger& l) { return l.bytes.in; });
    if (bytes_taken > bytes_sent && all_came_once(ledgers))
      all.push_back({"bytes sent, and accepted by the daemon", bytes_sent, bytes_taken});
  }
  return all;
}

bool hold(std::span<const agreement> agreements, bool store_damaged) {
  return std::ranges::all_of(agreements, [&](const agreement& a) {
    return a.holds() ||
           (store_damaged && a.other < a.one && a.other_is != agreement::counted_in::ledgers);
  });
}

std::optional<std::uint64_t> unreadable_events(std::span<const agreement> agreements) {
  std::optional<std::uint64_t> of_receiver;
  std::optional<std::uint64_t> of_daemons;
  for (const agreement& a : agreements) {
    if (a.other_is != agreement::counted_in::store) continue;
    auto& events = a.what.starts_with(receive_program) ? of_receiver : of_daemons;
    events = events.value_or(0) + a.one - std::min(a.one, a.other);
  }
  return of_receiver ? of_receiver : of_daemons;
}

namespace {

/// Whether counts may be inconsistent. The counters of a killed or running daemon were read one
/// after the other while they increased. Two sums then differ by the events that came meanwhile,
/// and by those in flight.
bool may_differ(const ledger& l) { return l.program == daemon_program && !l.ended; }

/// Adds one line if the crates sum up to the total, else a line for each difference. Crates' counts
/// are read last, so while counts may be inconsistent only a sum below the total is a fault.
void add_crates(const ledger& l, std::vector<agreement>& to) {
  if (l.crates.empty()) return; // of another program
  const auto compare = [&](std::string_view what, std::uint64_t whole, auto of_crate) {
    std::uint64_t sum = 0;
    for (const auto& crate : l.crates) sum += of_crate(crate);
    if (may_differ(l) && sum > whole) return;
    if (what == "seen" || sum != whole)
      to.push_back({l.program + ": fragments " + std::string(what) + ", and by crate", whole, sum});
  };
  const auto& f = l.fragments;
  compare("seen", f.seen, [](const crate_account& c) { return c.seen; });
  compare("admitted", f.admitted, [](const crate_account& c) { return c.admitted; });
  compare("incomplete", f.incomplete, [](const crate_account& c) { return c.incomplete; });
  compare("late", f.late, [](const crate_account& c) { return c.late; });
  compare("duplicate", f.duplicate, [](const crate_account& c) { return c.duplicate; });

  reason_counts reasons = f.malformed; // adds those that only a crate has
  for (const auto& crate : l.crates)
    for (const auto& [reason, n] : crate.malformed) reasons.try_emplace(reason, 0);
  for (const auto& [reason, whole] : reasons)
    compare(reason, whole, [&key = reason](const crate_account& c) {
      const auto found = c.malformed.find(key);
      return found == c.malformed.end() ? 0 : found->second;
    });
}

/// Origins are read after the outcomes of events, and before those of fragments.
void add_balances(const ledger& l, std::vector<agreement>& to) {
  const auto& e = l.events;
  const auto& f = l.fragments;
  const std::uint64_t settled = e.forwarded + e.rejected + sum_of(e.shed);
  const std::uint64_t ended =
      f.admitted + f.incomplete + sum_of(f.malformed) + f.late + f.duplicate;
  if (!may_differ(l) || settled + e.in_flight == e.admitted || settled > e.admitted)
    to.push_back(
        {l.program + ": events admitted, and their outcomes", e.admitted, settled + e.in_flight});
  if (!may_differ(l) || ended == f.seen)
    to.push_back({l.program + ": fragments seen, and their outcomes", f.seen, ended});
}

void add_spills(const ledger& l, std::vector<agreement>& to) {
  const bool is_daemon = l.program == daemon_program;
  if (!is_daemon && l.program != replay_program) return;
  std::uint64_t by_spill = l.earlier_spills.admitted;
  for (const auto& s : l.spills) by_spill += s.admitted;
  if (l.ended || by_spill > l.events.admitted)
    to.push_back({l.program + ": events admitted, and by spill", l.events.admitted, by_spill});
}

/// Whether the reason occurs over TCP, where refused data do not count as received. A connection
/// may also come from the wrong source.
bool may_be_of_tcp(std::string_view reason) {
  return reason.starts_with("stream_") || reason == "connection_limit" || reason == "source";
}

/// Over TCP all records count as received, those of events and others.
void add_datagrams(const ledger& l, came_by way, std::vector<agreement>& to) {
  const auto& d = l.datagrams;
  if (l.program == receive_program && d.data > d.received)
    to.push_back({l.program + ": messages received, and blocks", d.received, d.data});
  if (l.program != daemon_program) return;
  const bool has_udp = d.data + d.trailers > 0;
  std::uint64_t known = d.data + d.trailers + d.end_of_spill;
  std::uint64_t of_tcp = 0;
  for (const auto& [reason, n] : d.malformed) (may_be_of_tcp(reason) ? of_tcp : known) += n;
  if (!has_udp) known += l.events.admitted;
  const bool is_exact = way == came_by::udp_alone && has_udp && of_tcp == 0;
  if (is_exact || known > d.received)
    to.push_back({l.program + ": datagrams received, and by kind", d.received, known});
}

} // namespace

std::vector<agreement> own_sums(const ledger& l, came_by way) {
  std::vector<agreement> all;
  add_balances(l, all);
  add_crates(l, all);
  add_spills(l, all);
  add_datagrams(l, way, all);
  return all;
}

} // namespace l3
