// SPDX-License-Identifier: Apache-2.0
// The node calls this twice a second. It compares crates, histograms and threads, and logs spills.
#include "daemon/node_parts.hpp"
#include "monitor/log.hpp"

namespace l3 {

void node::look_around() {
  parts& p = *parts_;
  const time_point now = steady_clock::now();
  const double wall =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const spill_list::news ended = p.spills.fetch();
  const ledger a = p.sums();
  p.pause.look(a.fragments.seen, p.builder.between_spills(), p.builder.open_fragments(), now);
  {
    const std::lock_guard lock(p.look_mutex);
    p.stuck = p.state.report().now == phase::receiving ? p.progress.stuck(now) : std::string();
    p.crates.look(p.building, now, wall, a.datagrams.kernel_drops);
  }
  p.tell_spills(ended, a);
  if (p.histograms_shown) p.histograms_shown->look(now);
}

void node::parts::tell_spills(const spill_list::news& ended, const ledger& so_far) {
  for (const std::string& line : spills_told.note(ended)) log_info("{}", line);
  const auto whole = spills_told.look(steady_clock::now());
  if (!whole) return;
  const event_account& e = so_far.events;
  log_info("{}; so far {} events = {} forwarded + {} rejected + {} shed + {} in flight", *whole,
           e.admitted, e.forwarded, e.rejected, sum_of(e.shed), e.in_flight);
}

} // namespace l3
