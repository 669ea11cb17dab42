// SPDX-License-Identifier: Apache-2.0
// The steps of the protocol's machine (protocol_state.hpp): successors() gives every step that any
// part may take next, timers included, because a timer may always have run out.
#pragma once

#include <functional>

#include "tests/transport/outbox/protocol_state.hpp"

namespace l3::test::protocol {

class machine {
public:
  using visit = std::function<void(const char* step, const state&)>;

  explicit machine(const rules& r) : rules_(r) {}

  void successors(const state& s, const visit& to) const {
    daemon(s, to);
    receiver(s, to);
    trouble(s, to);
    liar(s, to);
  }

private:
  template <class Change>
  static void step(const state& s, const visit& to, const char* name, const Change& change) {
    state after = s;
    change(after);
    to(name, after);
  }

  void daemon(const state& s, const visit& to) const {
    if (s.remainder == 0 && s.sealed < s.blocks) step(s, to, "seal", [](state& n) { ++n.sealed; });
    if (s.linked == 0) step(s, to, "connect", [](state& n) { n.linked = n.unnoticed = 1; });
    if (s.unnoticed != 0) step(s, to, "notice", [](state& n) { n.unnoticed = n.welcomed = 0; });
    if (s.back.size != 0) step(s, to, "hear", [&](state& n) { hear(n, n.back.take()); });
    if (s.linked == 0 || s.to.full()) return;
    if (s.unnoticed == 0 && s.welcomed == 0 && !s.to.has(kind::hello, 0)) {
      step(s, to, "hello", [](state& n) {
        n.to.put({kind::hello, static_cast<std::uint8_t>(n.acknowledged + 1)});
      });
    }
    if (s.welcomed == 0) return;
    const std::uint8_t under_way = rules_.keep_to_credit ? s.window : s.blocks;
    if (s.next <= s.sealed && s.next <= s.acknowledged + under_way &&
        (rules_.empty_for_damaged || s.damaged != s.next)) {
      step(s, to, "send", [&](state& n) {
        n.to.put({kind::block, n.next});
        n.sent = std::max(n.sent, n.next);
        if (!rules_.keep_until_acknowledged) n.acknowledged = n.next;
        ++n.next;
      });
    }
    const auto oldest = static_cast<std::uint8_t>(s.acknowledged + 1);
    if (rules_.go_back_after_silence && s.next > oldest && !s.to.has(kind::block, oldest))
      step(s, to, "go back", [&](state& n) { n.next = oldest; });
    if (s.to.size == 0) step(s, to, "heartbeat", [](state& n) { n.to.put({kind::heartbeat, 0}); });
  }

  void hear(state& n, message m) const {
    const auto stored = [&](std::uint8_t number) {
      if (number <= n.acknowledged || number > n.sealed) return;
      n.acknowledged = number;
      n.next = std::max<std::uint8_t>(n.next, static_cast<std::uint8_t>(number + 1));
      n.window = credit;
    };
    const bool is_claim = m.what == kind::welcome || m.what == kind::acknowledgement;
    if (is_claim && m.number > n.sent && rules_.believe_nothing_unsent) return;
    const auto go_back = [&] { n.next = static_cast<std::uint8_t>(n.acknowledged + 1); };
    if (m.what == kind::welcome) {
      const bool more_than_there_is = m.number > n.sealed;
      if (more_than_there_is && (n.remainder == 0 || !rules_.believe_welcome_of_remainder)) return;
      n.welcomed = 1;
      n.window = credit;
      stored(std::min(m.number, n.sealed));
      if (rules_.go_back_at_welcome) go_back();
    } else if (m.what == kind::acknowledgement) {
      const bool more = n.remainder != 0 && rules_.believe_acknowledgement_of_remainder;
      stored(more ? std::min(m.number, n.sealed) : m.number);
    } else if (m.what == kind::stranger) {
      n.welcomed = 0;
    } else {
      n.window = 1;
      if (rules_.go_back_after_refusal) go_back();
    }
  }

  void receiver(const state& s, const visit& to) const {
    if (s.linked != 0 && s.to.size != 0)
      step(s, to, "take", [&](state& n) { take(n, n.to.take(), true); });
    if (s.linked != 0 && s.left.overtakes != 0 && s.to.size == 2 &&
        s.to.queue[1].what == kind::block) {
      step(s, to, "take what overtook another", [&](state& n) {
        --n.left.overtakes;
        n.several = 1;
        take(n, n.to.take_second(), true);
      });
    }
    if (s.stale.size != 0)
      step(s, to, "take of the last connection", [&](state& n) { take(n, n.stale.take(), false); });
    if ((s.acknowledge | s.welcome) == 0) return;
    step(s, to, "commit and answer", [&](state& n) {
      commit(n);
      answer_all(n);
    });
    if (s.left.errors == 0) return;
    step(s, to, "commit in vain", [&](state& n) {
      --n.left.errors;
      n.appended = n.committed;
      take_back(n, 0);
      const bool refuse = n.acknowledge != 0;
      answer_all(n);
      if (refuse) answer(n, {kind::refusal, 0});
    });
  }

  static void answer(state& n, message m) {
    if (n.reachable != 0 && n.linked != 0) n.back.put(m);
  }
  /// stored_numbers::last
  [[nodiscard]] std::uint8_t last(const state& n, std::uint8_t first) const {
    if (!rules_.count_what_the_daemon_let_go) first = 0;
    std::uint8_t last = n.appended;
    for (auto b = static_cast<std::uint8_t>(last + 1); b <= n.blocks; ++b) {
      if ((n.behind & bit(b)) != 0 && (b == last + 1 || b <= first)) last = b;
    }
    return last;
  }
  /// What was behind a gap that is closed now is like any other.
  void commit(state& n) const {
    n.committed = n.appended = last(n, 0);
    for (std::uint8_t b = 1; b <= n.committed; ++b) n.behind &= static_cast<std::uint8_t>(~bit(b));
  }
  void answer_all(state& n) const {
    if (n.welcome != 0) answer(n, {kind::welcome, last(n, n.first)});
    if (n.acknowledge != 0) answer(n, {kind::acknowledgement, last(n, n.first)});
    n.welcome = n.acknowledge = 0;
  }

  void take(state& n, message m, bool present) const {
    if (m.what != kind::hello && n.known == 0) {
      if (rules_.answer_strangers && present && n.linked != 0) n.back.put({kind::stranger, 0});
      return;
    }
    n.reachable = present ? 1 : 0;
    if (m.what == kind::hello) {
      n.known = 1;
      n.first = m.number;
      for (std::uint8_t b = 1; b <= n.first; ++b) n.early &= static_cast<std::uint8_t>(~bit(b));
      n.acknowledge = 0;
      n.welcome = 1;
      if (rules_.welcome_after_commit) return;
      answer(n, {kind::welcome, last(n, n.first)});
      n.welcome = 0;
      return;
    }
    n.acknowledge = 1;
    if (m.what != kind::block) return;
    const std::uint8_t stored = last(n, n.first);
    const bool again = m.number <= stored;
    if (again && rules_.drop_what_is_stored) return;
    auto expected = static_cast<std::uint8_t>(stored + 1);
    if (rules_.begin_where_hello_says) expected = std::max(expected, n.first);
    if (m.number > expected && n.several != 0 && rules_.store_early_in_turn) {
      const bool is_again = (n.early & bit(m.number)) != 0;
      if (is_again && expected == n.first && rules_.ask_again_while_first_is_missing)
        answer(n, {kind::stranger, 0});
      n.early |= bit(m.number);
      return;
    }
    if (m.number > expected && rules_.refuse_gaps && n.several == 0) return;
    if (m.number < expected && !again) {
      if (rules_.ask_for_hello_again) answer(n, {kind::stranger, 0});
      return;
    }
    if (m.number > expected) n.gap = 1;
    if (again || (n.behind & bit(m.number)) != 0) n.doubled = 1;
    append(n, m.number);
    for (auto early = static_cast<std::uint8_t>(m.number + 1); (n.early & bit(early)) != 0;
         ++early) {
      n.early &= static_cast<std::uint8_t>(~bit(early));
      append(n, early);
    }
    if (!rules_.acknowledge_after_commit) answer(n, {kind::acknowledgement, last(n, n.first)});
  }

  static void append(state& n, std::uint8_t number) {
    n.appended = number;
    n.there |= bit(number);
  }

  /// What was appended and not committed is gone, but for these blocks.
  static void take_back(state& n, std::uint8_t whole) {
    n.there &= static_cast<std::uint8_t>(((2U << n.committed) - 1U) | whole);
  }

  static void disconnect(state& n, std::uint8_t unread) {
    n.stale = n.to;
    n.stale.keep(unread);
    n.to = n.back = {};
    n.linked = n.reachable = 0;
    n.unnoticed = 1;
  }
  static void end_receiver(state& n) {
    disconnect(n, 0);
    forget(n);
  }
  static void forget(state& n) {
    n.known = n.first = n.acknowledge = n.welcome = 0;
    n.early = 0;
  }

  /// What a start finds: of what was not committed, these, and all that was. The first block of a
  /// session is taken as it comes: what another store has is no gap.
  void start_again(state& n, std::uint8_t whole) const {
    const std::uint8_t before = n.appended;
    n.appended = n.committed;
    whole &= n.there; // a session that began later has no block before its first
    take_back(n, whole);
    for (auto b = static_cast<std::uint8_t>(n.committed + 1); b <= before; ++b) {
      if ((whole & bit(b)) != 0) n.behind |= bit(b);
    }
    commit(n);
    end_receiver(n);
    if (rules_.count_nothing_behind_a_gap) return;
    for (auto b = static_cast<std::uint8_t>(n.committed + 1); b <= n.blocks; ++b) {
      if ((n.behind & bit(b)) == 0) continue;
      for (auto m = static_cast<std::uint8_t>(n.committed + 1); m < b; ++m) n.lost |= bit(m);
      n.committed = n.appended = b;
    }
    commit(n);
  }

  void trouble(const state& s, const visit& to) const {
    if (s.left.breaks != 0 && s.linked != 0 && s.stale.size == 0) {
      for (std::uint8_t unread = 0; unread <= s.to.size; ++unread) {
        step(s, to, "break", [&](state& n) {
          --n.left.breaks;
          disconnect(n, unread);
        });
      }
    }
    if (s.left.kills != 0) {
      step(s, to, "kill the receiver", [&](state& n) {
        --n.left.kills;
        commit(n);
        end_receiver(n);
      });
    }
    if (s.left.crashes != 0) {
      for (std::uint8_t whole = 0; whole < bit(static_cast<std::uint8_t>(s.blocks + 1));
           whole = static_cast<std::uint8_t>(whole + 2)) {
        step(s, to, "crash the receiver's machine", [&](state& n) {
          --n.left.crashes;
          start_again(n, whole);
        });
      }
    }
    for (std::uint8_t b = 1; s.left.rots != 0 && b <= std::min(s.acknowledged, s.committed); ++b) {
      step(s, to, "damage a block in the store", [&](state& n) {
        --n.left.rots;
        commit(n);
        for (auto later = static_cast<std::uint8_t>(b + 1); later <= n.committed; ++later)
          n.behind |= bit(later);
        n.committed = n.appended = static_cast<std::uint8_t>(b - 1);
        n.rotten |= bit(b);
        n.there &= static_cast<std::uint8_t>(~bit(b));
        start_again(n, 0);
      });
    }
    if (s.left.moves != 0) {
      step(s, to, "store elsewhere", [](state& n) {
        --n.left.moves;
        n.elsewhere = std::max(n.elsewhere, n.committed);
        n.appended = n.committed = n.behind = n.there = 0;
        end_receiver(n);
      });
    }
    if (s.left.forgets != 0 && s.known != 0) {
      step(s, to, "forget", [](state& n) {
        --n.left.forgets;
        forget(n);
      });
    }
    if (s.left.damages != 0 && s.acknowledged < s.sealed) {
      step(s, to, "damage", [](state& n) {
        --n.left.damages;
        n.damaged = n.sealed;
      });
    }
    if (s.left.restarts != 0) restart(s, to);
  }

  /// A receiver that claims blocks which it was not sent. A claim of what was sent meanwhile is
  /// like any other, so it is heard at once.
  void liar(const state& s, const visit& to) const {
    if (s.left.lies == 0 || s.linked == 0) return;
    for (const kind what : {kind::welcome, kind::acknowledgement}) {
      for (auto b = static_cast<std::uint8_t>(s.sent + 1); b <= s.blocks + 1; ++b) {
        step(s, to, "claim what was not sent", [&](state& n) {
          --n.left.lies;
          hear(n, {what, b});
        });
      }
    }
  }

  /// The note of what was acknowledged may be late, and the end of the spool may be torn.
  void restart(const state& s, const visit& to) const {
    for (std::uint8_t late = 0; late <= std::min<std::uint8_t>(1, s.acknowledged); ++late) {
      for (std::uint8_t torn = 0; torn <= 1 && torn + s.acknowledged - late <= s.sealed; ++torn) {
        for (std::uint8_t unread = 0; unread <= (s.stale.size == 0 ? s.to.size : 0); ++unread) {
          step(s, to, "restart the daemon", [&](state& n) {
            const channel before = n.stale;
            --n.left.restarts;
            disconnect(n, unread);
            if (before.size != 0) n.stale = before;
            n.remainder = 1;
            n.sent = n.blocks; // what earlier processes sent is not known
            n.sealed = static_cast<std::uint8_t>(n.sealed - torn);
            n.acknowledged = static_cast<std::uint8_t>(n.acknowledged - late);
            n.next = static_cast<std::uint8_t>(n.acknowledged + 1);
            n.window = n.welcomed = n.unnoticed = 0;
          });
        }
      }
    }
  }

  rules rules_;
};

} // namespace l3::test::protocol
