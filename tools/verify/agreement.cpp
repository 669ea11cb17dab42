// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace l3 {

namespace {

/// Sum of a figure over the ledgers of a program.
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

/// Each start left what it says at its end.
bool daemons_have_ended(std::span<const ledger> ledgers) {
  return std::ranges::all_of(
      ledgers, [](const ledger& l) { return l.program != daemon_program || l.ended; });
}

std::uint64_t events_shed(const ledger& l, shed why) {
  const auto found = l.events.shed.find(name_of(why));
  return found == l.events.shed.end() ? 0 : found->second;
}

/// Events that a daemon had not delivered when it ended, or had lost on disk: the receiver may have
/// stored them, and the daemon not have heard of it.
std::uint64_t not_heard_of(std::span<const ledger> ledgers, const ledger& l) {
  const std::uint64_t open =
      l.events.in_flight + events_shed(l, shed::drain) + events_shed(l, shed::spool);
  return open - std::min(open, delivered_later(ledgers, l));
}

/// Ledgers and stores come from anywhere: each may name very many sessions.
std::set<std::uint64_t> sessions_of(const ledger& l) {
  return {l.sessions.begin(), l.sessions.end()};
}

/// Of a session that has shown its token, what came without it is not the daemon's.
std::uint64_t stored_of(std::span<const event_index::session> stored, const ledger& l) {
  std::uint64_t events = 0;
  const auto of_ledger = sessions_of(l);
  std::set<std::uint64_t> proven;
  for (const auto& s : stored)
    if (s.proven) proven.insert(s.number);
  for (const auto& s : stored) {
    if (of_ledger.contains(s.number) && s.proven == proven.contains(s.number))
      events += s.events + s.repeated;
  }
  return events;
}

std::uint64_t all_of(std::span<const event_index::session> stored) {
  std::uint64_t events = 0;
  for (const auto& s : stored) events += s.events;
  return events;
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
  std::vector<agreement> all;
  for (const auto& l : ledgers) {
    const auto& e = l.events;
    const auto& f = l.fragments;
    all.push_back({l.program + ": events admitted, and what became of them", e.admitted,
                   e.forwarded + e.rejected + sum_of(e.shed) + e.in_flight});
    all.push_back(
        {l.program + ": fragments seen, and what became of them", f.seen,
         f.admitted + f.incomplete + sum_of(f.malformed) + f.late + f.duplicate + f.conflicting});
    // A daemon's ledger is of its sessions, and a receiver's of the whole store. That of a program
    // that was killed, or still runs, may be older than the store, and then says less.
    const auto compare_with_store = [&](std::uint64_t forwarded, std::uint64_t in_store) {
      if (l.ended || forwarded > in_store)
        all.push_back({l.program + ": events forwarded, and stored", forwarded, in_store,
                       agreement::counted_in::store,
                       l.program == daemon_program ? not_heard_of(ledgers, l) : 0});
    };
    if (l.program == daemon_program && known.kind == store_kind::store)
      compare_with_store(e.forwarded + delivered_later(ledgers, l), stored_of(stored, l));
    else if (is_of_store(l))
      compare_with_store(e.forwarded, all_of(stored));
  }
  const auto replays = std::ranges::count(ledgers, replay_program, &ledger::program);
  const std::uint64_t events_sent =
      total(ledgers, replay_program, [](const ledger& l) { return l.events.admitted; });
  if (replays == 1 && known.events_in_file)
    all.push_back({"events sent, and in the file", events_sent, *known.events_in_file,
                   agreement::counted_in::file});
  if (replays > 0 && has(ledgers, daemon_program) && daemons_have_ended(ledgers) &&
      sessions_without_ledger(ledgers, known.runs
                                           ? sessions_of_runs(*known.runs, stored)
                                           : std::vector(stored.begin(), stored.end())) == 0) {
    const std::uint64_t fragments_sent =
        total(ledgers, replay_program, [](const ledger& l) { return l.fragments.seen; });
    // An event that came twice, because it was not acknowledged, was sent once. It came again to
    // another start with all its fragments.
    const std::uint64_t fragments_seen = total(ledgers, daemon_program, [](const ledger& l) {
      return l.fragments.seen - l.fragments.duplicate - l.fragments.conflicting;
    });
    const std::uint64_t events_admitted =
        total(ledgers, daemon_program, [](const ledger& l) { return l.events.admitted; });
    const std::uint64_t fragments_again =
        events_sent == 0 ? 0 : known.came_again * (fragments_sent / events_sent);
    all.push_back({"fragments sent, and seen by the daemon", fragments_sent,
                   fragments_seen - std::min(fragments_seen, fragments_again)});
    all.push_back({"events sent, and admitted by the daemon", events_sent,
                   events_admitted - std::min(events_admitted, known.came_again)});
  }
  return all;
}

bool hold(std::span<const agreement> agreements, const damage_of& skipped) {
  return std::ranges::all_of(agreements, [&](const agreement& a) {
    using where = agreement::counted_in;
    const bool damaged = (a.other_is == where::store && skipped.store) ||
                         (a.other_is == where::file && skipped.file);
    return a.holds() || (damaged && a.other < a.one);
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

} // namespace l3
