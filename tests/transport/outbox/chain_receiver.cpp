// SPDX-License-Identifier: Apache-2.0
// The receiver, and what comes to it from daemons that live or are dead.
#include "tests/transport/outbox/chain_machine.hpp"

namespace l3::test::chain {

namespace {

/// Who loses nothing that was appended need not be asked to commit.
void count(const state& n, lane& l, number block) {
  l.last = block;
  if (n.left.errors == 0 && n.left.power_cuts == 0) l.committed = block;
}

bool has_uncommitted(const state& s) {
  return std::any_of(s.lanes.begin(), s.lanes.end(),
                     [](const lane& l) { return l.last != l.committed; });
}
void commit(state& n) {
  for (lane& l : n.lanes) l.committed = l.last;
}

} // namespace

void machine::receiver(const state& s, const visit& to) const {
  for (number i = 0; i < s.lanes.size(); ++i) {
    const lane& l = s.lanes[i];
    const number block =
        rules_.begin_where_hello_says ? l.expected() : static_cast<number>(l.last + 1);
    if (block <= l.stale)
      step(s, to, "read what a dead daemon sent", [&](state& n) { take(n, i, block); });
    if (l.stale != 0)
      step(s, to, "lose what a dead daemon sent", [&](state& n) { n.lanes[i].stale = 0; });
    if (s.up != 0 && i == 2U * s.life && block <= s.sealed_in_memory() && block > s.stored)
      step(s, to, "send from memory", [&](state& n) { take(n, i, block); });
    if (s.up != 0 && i + 1U == s.backlog && block <= last_on_disk(s) && block > s.backlog_stored)
      send_from_disk(s, to, i, block);
  }
  if (!has_uncommitted(s)) return;
  step(s, to, "commit", [](state& n) { commit(n); });
  if (s.left.errors == 0) return;
  step(s, to, "commit in vain", [&](state& n) {
    --n.left.errors;
    for (number i = 0; i < n.lanes.size(); ++i) take_back(n, i, n.lanes[i].committed);
  });
}

void machine::send_from_disk(const state& s, const visit& to, number i, number block) const {
  const lane& l = s.lanes[i];
  if ((l.disk & bit(block)) != 0) {
    step(s, to, "send from disk", [&](state& n) { take(n, i, block); });
    return;
  }
  const bool behind = block < lowest(l.disk);
  if (!rules_.empty_for_missing || (behind && !rules_.empty_behind_what_is_stored)) return;
  step(s, to, "send an empty block", [&](state& n) { count(n, n.lanes[i], block); });
}

void machine::take(state& n, number i, number block) const {
  lane& l = n.lanes[i];
  const number e = l.event(block);
  const auto mine = static_cast<number>(i + 1);
  number& known = n.remembered[e - 1U];
  number& held = n.holder[e - 1U];
  if (known != 0 && known != mine && rules_.leave_out_repeats) {
    if (rules_.commit_before_leaving_out) commit(n);
  } else {
    if (held != 0) n.seen = fault_seen::stored_twice;
    held = known = mine;
  }
  count(n, l, block);
}

void machine::take_back(state& n, number i, number last) const {
  lane& l = n.lanes[i];
  for (; l.last > last; --l.last) {
    const number e = l.last <= l.blocks() ? l.event(l.last) : number{0};
    if (e == 0 || n.holder[e - 1U] != i + 1) continue;
    n.holder[e - 1U] = 0;
    if (rules_.take_back_from_memory) n.remembered[e - 1U] = 0;
  }
  l.committed = std::min(l.committed, l.last);
}

void machine::receiver_trouble(const state& s, const visit& to) const {
  if (s.left.deaths != 0) {
    step(s, to, "kill the receiver", [&](state& n) {
      --n.left.deaths;
      begin_receiver(n);
    });
  }
  if (s.left.power_cuts == 0) return;
  state cut = s;
  --cut.left.power_cuts;
  survivors(cut, 0, to);
}

/// Of each lane, any part of what was not committed, beginning with its first, is still there.
void machine::survivors(const state& s, number i, const visit& to) const {
  if (i == s.lanes.size())
    return step(s, to, "cut the receiver's power", [&](state& n) { begin_receiver(n); });
  for (number last = s.lanes[i].committed; last <= s.lanes[i].last; ++last) {
    state n = s;
    take_back(n, i, last);
    survivors(n, static_cast<number>(i + 1), to);
  }
}

void machine::begin_receiver(state& n) const {
  commit(n);
  n.remembered = rules_.recall ? n.holder : decltype(n.holder){};
  for (lane& l : n.lanes) l.first = l.stale = 0;
  if (n.backlog != 0) n.lanes[n.backlog - 1U].first = static_cast<number>(n.backlog_stored + 1);
}

} // namespace l3::test::chain
