// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/agreement.hpp"

#include <string_view>

namespace l3 {

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
