// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/fates.hpp"

#include <algorithm>

#include "tools/verify/agreement.hpp"

namespace l3 {

namespace {

/// Sums over all daemons.
struct daemon_sums {
  std::uint64_t admitted = 0;
  std::uint64_t shed = 0;
  std::uint64_t shed_at_stop = 0;
  std::uint64_t rejected = 0;
  std::uint64_t left = 0;
  std::uint64_t incomplete = 0;
};

/// Events that were not admitted because of incomplete fragments. If incomplete events are
/// forwarded, it is unknown which of them were.
std::uint64_t given_up_as_incomplete(const ledger& l) {
  if (l.crates.empty() || l.fragments.admitted != l.events.admitted * l.crates.size()) return 0;
  std::uint64_t events = l.earlier_spills.incomplete;
  for (const spill_account& s : l.spills) events += s.incomplete;
  return events;
}

daemon_sums sums_of(std::span<const ledger> ledgers) {
  daemon_sums sums;
  for (const auto& l : ledgers) {
    if (l.program != daemon_program) continue;
    const auto at_stop = l.events.shed.find(name_of(shed::drain));
    sums.admitted += l.events.admitted;
    sums.shed += sum_of(l.events.shed);
    if (at_stop != l.events.shed.end()) sums.shed_at_stop += at_stop->second;
    sums.rejected += l.events.rejected;
    sums.incomplete += given_up_as_incomplete(l);
    sums.left += l.events.in_flight - std::min(l.events.in_flight, delivered_later(ledgers, l));
  }
  return sums;
}

} // namespace

std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                    std::span<const event_index::session> stored,
                                    const comparison& compared, bool selected) {
  if (std::ranges::none_of(ledgers, [](const ledger& l) { return l.program == daemon_program; }))
    return std::nullopt;
  const daemon_sums sums = sums_of(ledgers);
  event_fates fates;
  fates.shed = sums.shed;
  fates.rejected = selected ? 0 : sums.rejected;
  fates.left = sums.left;

  // Lost events that are not missing came again, or the ledgers belong to another store.
  // store.
  const std::uint64_t lost = fates.shed + fates.rejected + fates.left;
  const std::uint64_t shed_and_again = lost - std::min(lost, compared.missing);
  std::uint64_t stored_and_again = compared.repeated;
  for (const auto& s : stored) stored_and_again += s.repeated;
  if (sessions_without_ledger(ledgers, stored) == 0 && shed_and_again <= sums.shed_at_stop &&
      sums.admitted == compared.sent + shed_and_again + stored_and_again) {
    fates.shed -= shed_and_again;
    fates.shed_and_again = shed_and_again;
    fates.stored_and_again = stored_and_again;
  }

  const std::uint64_t admitted = fates.shed + fates.rejected + fates.left;
  const std::uint64_t others = compared.missing - std::min(compared.missing, admitted);
  fates.incomplete = std::min(others, sums.incomplete);
  fates.unknown = others - fates.incomplete;
  return fates;
}

} // namespace l3
