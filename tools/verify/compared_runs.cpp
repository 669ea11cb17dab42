// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/compared_runs.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/verify/agreement.hpp"

namespace l3 {

namespace {

std::set<std::uint32_t> runs_of(std::span<const event_index::session> sessions) {
  std::set<std::uint32_t> runs;
  for (const auto& s : sessions) runs.insert(s.run);
  return runs;
}

bool share_numbers(const event_index& stored) {
  const auto run_of = [&](const event_index::entry& e) { return stored.sessions()[e.session].run; };
  const auto entries = stored.entries();
  return std::ranges::adjacent_find(entries, [&](const auto& one, const auto& next) {
           return one.key == next.key && run_of(one) != run_of(next);
         }) != entries.end();
}

} // namespace

std::set<std::uint32_t> runs_to_compare(std::span<const std::uint32_t> named,
                                        std::span<const given_ledger> ledgers,
                                        const event_index& stored) {
  const auto all = runs_of(stored.sessions());
  for (const std::uint32_t run : named) {
    if (!all.contains(run))
      throw std::runtime_error(
          fmt::format("no block of run {} is stored, but of {}", run, words_of(all)));
  }
  if (!named.empty()) return {named.begin(), named.end()};
  std::set<std::uint32_t> of_daemons;
  for (const auto& [path, l, of_folder] : ledgers)
    if (l.program == daemon_program && all.contains(l.run)) of_daemons.insert(l.run);
  if (!of_daemons.empty()) return of_daemons;
  if (all.size() > 1 && share_numbers(stored))
    throw std::runtime_error(
        fmt::format("{} are stored, and have events under the same numbers: say by --run which was "
                    "sent, or give the ledgers of its daemons by --ledger",
                    words_of(all)));
  return all;
}

std::string words_of(const std::set<std::uint32_t>& runs) {
  if (runs.empty()) return "no run";
  if (runs.size() == 1) return fmt::format("run {}", *runs.begin());
  const auto last = std::prev(runs.end());
  return fmt::format("runs {} and {}", fmt::join(runs.begin(), last, ", "), *last);
}

} // namespace l3
