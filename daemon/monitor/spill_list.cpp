// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/spill_list.hpp"

#include <algorithm>
#include <utility>

namespace l3 {

namespace {

constexpr std::size_t most_spills = 65536; // three days; a run is shorter
constexpr std::size_t recent = 2;          // spills that may be reported again

} // namespace

void spill_list::note(const spill_summary& ended) {
  const std::lock_guard guard(lock_);
  new_.push_back(ended);
}

std::vector<spill_summary> spill_list::fetch() {
  std::vector<spill_summary> ended;
  {
    const std::lock_guard guard(lock_);
    ended.swap(new_);
  }
  ended.erase(std::unique(ended.begin(), ended.end()), ended.end()); // two equal reports
  for (const spill_summary& s : ended) add(s);
  return ended;
}

/// A spill of which more events came after its end replaces its earlier report.
void spill_list::add(const spill_summary& ended) {
  const auto from = all_.end() - static_cast<std::ptrdiff_t>(std::min(recent, all_.size()));
  const auto again = std::find_if(from, all_.end(),
                                  [&](const spill_account& a) { return a.spill == ended.spill; });
  const spill_account account{ended.spill, ended.admitted, ended.incomplete, ended.expected};
  if (again != all_.end()) {
    *again = account;
    return;
  }
  all_.push_back(account);
  if (all_.size() > most_spills) all_.erase(all_.begin());
}

} // namespace l3
