// SPDX-License-Identifier: Apache-2.0
// The sender and the lives of the daemon.
#include "tests/transport/outbox/chain_machine.hpp"

namespace l3::test::chain {

namespace {

/// Of a lane of an earlier life there is nothing behind what is on disk or under way.
void forget_what_is_over(state& n, number i) {
  lane& l = n.lanes[i];
  const number end = std::max(highest(l.disk), l.stale);
  for (number e = n.events; l.blocks() > end; --e)
    l.events = static_cast<number>(l.events & ~bit(e));
  l.last = l.committed = end == 0 ? number{0} : std::min(l.last, static_cast<number>(end + 1));
  for (auto* which : {&n.holder, &n.remembered}) {
    for (number e = 1; e <= n.events; ++e)
      if ((*which)[e - 1U] == i + 1 && (l.events & bit(e)) == 0)
        (*which)[e - 1U] = a_lane_that_is_over;
  }
}

void take_event(state& n, lane& into, opened what) {
  into.events |= bit(n.next++);
  if (n.blocks_stay_open != 0) n.open = what;
}

void let_go(state& n, number stored, number last) {
  lane& l = n.lanes[n.backlog - 1U];
  l.disk = static_cast<number>(l.disk & ~up_to(stored));
  n.backlog_stored = stored;
  if (n.sends_own_lane()) n.own_stored = stored;
  if (stored == last) n.backlog = n.backlog_stored = 0;
}

void enter(state& n, number index, number stored) {
  n.backlog = static_cast<number>(index + 1);
  n.backlog_stored = stored;
  n.lanes[index].first = static_cast<number>(stored + 1);
}

/// As far as no block is missing: what is stale is whole.
number last_sent_from_disk(const state& s) {
  const lane& l = s.lanes[s.backlog - 1U];
  number last = l.last;
  while ((l.disk & bit(static_cast<number>(last + 1))) != 0) ++last;
  return last;
}

void die(state& n) {
  if (n.open == opened::memory)
    n.memory().events = static_cast<number>(n.memory().events & ~bit(highest(n.memory().events)));
  if (n.open == opened::disk)
    n.disk().events = static_cast<number>(n.disk().events & ~bit(highest(n.disk().events)));
  n.open = opened::none;
  n.up = n.draining = n.given_up = n.stored = n.copied = n.written = n.own_stored = n.backlog =
      n.backlog_stored = 0;
}

} // namespace

/// What makes no difference any more is made equal: there are far fewer states so.
void machine::tidy(state& n) const {
  n.safe = std::max(n.acknowledged, n.up != 0 ? safe_up_to(n) : number{0});
  for (number i = 0; i < n.lanes.size(); ++i) {
    lane& l = n.lanes[i];
    if (l.first <= l.last + 1) l.first = 0;
    if (l.stale <= l.last) l.stale = 0;
    const bool is_over = i / 2U < n.life || n.up == 0;
    if (is_over && l.events != 0 && l.last == l.committed) forget_what_is_over(n, i);
  }
}

// --- the sender and the daemon's way in ---

void machine::input(const state& s, const visit& to) const {
  const auto event = s.next;
  if (s.draining == 0 && event <= s.events) {
    if ((s.taken() & bit(event)) != 0) {
      step(s, to, "take a repeat", [&](state& n) { take_repeat(n); });
    } else if (s.open == opened::none) {
      if (s.has_memory != 0) {
        step(s, to, "take into memory",
             [](state& n) { take_event(n, n.memory(), opened::memory); });
      }
      step(s, to, "take for the disk", [](state& n) { take_event(n, n.disk(), opened::disk); });
    }
  }
  if (s.open != opened::none) step(s, to, "seal", [](state& n) { n.open = opened::none; });
  for (number told = s.acknowledged; s.left.resets != 0 && told <= s.safe; ++told) {
    step(s, to, "reset the input", [&](state& n) {
      --n.left.resets;
      n.acknowledged = told;
      connect_again(n);
    });
  }
}

void machine::connect_again(state& n) const {
  if (rules_.send_again) n.next = static_cast<number>(n.acknowledged + 1);
}

void machine::take_repeat(state& n) const {
  if (!rules_.know_repeats) n.seen = fault_seen::taken_twice;
  if (!rules_.repeat_waits_for_original) n.acknowledged = n.next;
  ++n.next;
}

/// The last event of which the sender may be told: safe_batches.
number machine::safe_up_to(const state& s) const {
  number safe = 0;
  for (number e = 1; e <= s.events; ++e) {
    if (s.given_up == e && !rules_.nothing_is_safe_after_loss) safe = e;
    if ((s.taken() & bit(e)) == 0) continue;
    if (is_secured(s, e)) {
      safe = e;
    } else if (rules_.wait_for_all_before) {
      break;
    }
  }
  return safe;
}

bool machine::is_secured(const state& s, number event) const {
  const bool in_memory = (s.memory().events & bit(event)) != 0;
  const lane& in = in_memory ? s.memory() : s.disk();
  const auto block = std::popcount(static_cast<number>(in.events & up_to(event)));
  const bool is_sealed = block <= (in_memory ? s.sealed_in_memory() : s.sealed_for_disk());
  if (!is_sealed) return !rules_.wait_for_open_block;
  return block <= (in_memory ? s.copied : s.written) || !rules_.wait_for_disk_or_store;
}

// --- the daemon's memory and disk ---

void machine::memory_and_disk(const state& s, const visit& to) const {
  const number sealed = s.sealed_in_memory();
  if (s.memory().committed > s.stored) {
    step(s, to, "hear what is stored", [](state& n) {
      n.stored = n.memory().committed;
      n.copied = std::max(n.copied, n.stored);
      n.memory().disk = static_cast<number>(n.memory().disk & ~up_to(n.stored));
    });
  }
  if (s.copied < sealed) {
    step(s, to, "copy to disk", [](state& n) { n.memory().disk |= bit(++n.copied); });
  }
  if (s.written < s.sealed_for_disk()) {
    step(s, to, "write to disk", [](state& n) { n.disk().disk |= bit(++n.written); });
  }
}

// --- the forwarder of what is on disk ---

void machine::backlog(const state& s, const visit& to) const {
  if (s.backlog == 0) return next_lane(s, to);
  const lane& l = s.lanes[s.backlog - 1U];
  const number last = last_on_disk(s);
  const number news = rules_.believe_more_of_remainder || l.committed <= last
                          ? std::min(l.committed, last)
                          : number{0};
  if (news > s.backlog_stored) {
    step(s, to, "hear what is stored from disk", [&](state& n) { let_go(n, news, last); });
  }
  if (!rules_.keep_until_stored && s.backlog_stored < last) {
    step(s, to, "send from disk and let go",
         [&](state& n) { let_go(n, static_cast<number>(n.backlog_stored + 1), last); });
  }
}

/// Those that were found first. Which of them is the oldest depends on which was written first.
void machine::next_lane(const state& s, const visit& to) const {
  bool found = false;
  for (number i = 0; i < 2U * s.life && rules_.send_what_was_found; ++i) {
    if (s.lanes[i].disk == 0) continue;
    found = true;
    step(s, to, "begin a lane that was found",
         [&](state& n) { enter(n, i, static_cast<number>(lowest(n.lanes[i].disk) - 1)); });
  }
  if (!found && s.written > s.own_stored) {
    step(s, to, "begin the own lane",
         [](state& n) { enter(n, static_cast<number>(2U * n.life + 1U), n.own_stored); });
  }
}

/// All that a lane has, of which the receiver was sent less: of what it was sent it may say what it
/// likes, and no daemon can know better. How far an earlier life sent a lane is not known.
void machine::liar(const state& s, const visit& to) const {
  if (s.left.lies == 0 || s.up == 0) return;
  const bool is_believed = !rules_.believe_nothing_unsent;
  const number sealed = s.sealed_in_memory();
  if (s.memory().last < sealed && s.memory().stale < sealed) {
    step(s, to, "claim what was not sent from memory", [&](state& n) {
      --n.left.lies;
      if (!is_believed) return;
      n.stored = n.copied = sealed;
      n.memory().disk = static_cast<number>(n.memory().disk & ~up_to(sealed));
    });
  }
  if (s.backlog == 0 || !s.sends_own_lane()) return;
  const lane& l = s.lanes[s.backlog - 1U];
  const number last = last_on_disk(s);
  if (l.last >= last || l.stale >= last) return;
  step(s, to, "claim what was not sent from disk", [&](state& n) {
    --n.left.lies;
    if (is_believed) let_go(n, last, last);
  });
}

// --- how a life ends, and the next begins ---

/// What was under way may be read later, and the sender has heard of any that were safe.
template <class Change>
void machine::each_death(const state& s, const visit& to, const char* name,
                         const Change& also) const {
  for (number told = s.acknowledged; told <= s.safe; ++told) {
    step(s, to, name, [&](state& n) {
      also(n);
      n.acknowledged = told;
      n.memory().stale = n.sealed_in_memory();
      if (n.backlog != 0) {
        number& stale = n.lanes[n.backlog - 1U].stale;
        stale = std::max(stale, last_sent_from_disk(n));
      }
      die(n);
    });
  }
}

void machine::ends(const state& s, const visit& to) const {
  if (!s.another_life()) return;
  if (s.left.kills != 0) {
    each_death(s, to, "kill the daemon", [](state& n) { --n.left.kills; });
  }
  if (s.left.stops != 0 && s.draining == 0) {
    step(s, to, "stop the daemon", [](state& n) {
      --n.left.stops;
      n.draining = 1;
    });
  }
  if (s.draining == 0) return;
  each_death(s, to, "end at the deadline", [](state&) {});
  if (s.open != opened::none && s.given_up == 0) {
    step(s, to, "give an event up", [](state& n) {
      lane& in = n.open == opened::memory ? n.memory() : n.disk();
      n.given_up = highest(in.events);
      in.events = static_cast<number>(in.events & ~bit(n.given_up));
      n.open = opened::none;
    });
  }
  const bool all_on_disk = s.open == opened::none && s.copied == s.sealed_in_memory() &&
                           s.written == s.sealed_for_disk();
  if (!all_on_disk && rules_.leave_when_all_is_on_disk) return;
  each_death(s, to, "end with all on disk", [](state& n) {
    for (number e = 1; e <= n.events; ++e)
      if ((n.taken() & bit(e)) != 0 && !n.is_kept(e)) n.seen = fault_seen::left_behind;
  });
}

void machine::start(const state& s, const visit& to) const {
  step(s, to, "start the daemon", [&](state& n) {
    n.up = 1;
    ++n.life;
    connect_again(n);
  });
  if (s.left.damages == 0) return;
  for (number i = 0; i < s.lanes.size(); ++i) {
    const lane& l = s.lanes[i];
    for (number b = 1; b <= l.blocks(); ++b) {
      if ((l.disk & bit(b)) == 0) continue;
      step(s, to, "damage a block on disk", [&](state& n) {
        --n.left.damages;
        n.damaged |= bit(l.event(b));
        n.lanes[i].disk = static_cast<number>(l.disk & ~bit(b));
      });
    }
  }
}

} // namespace l3::test::chain
