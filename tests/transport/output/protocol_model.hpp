// SPDX-License-Identifier: Apache-2.0
// The protocol of the output line as a small machine (docs/protocol.md): one lane of a daemon, a
// link that breaks, a receiver with its store. A state is a few bytes; successors() gives every
// step that any part may take next, timers included, because a timer may always have run out. Each
// rule of the protocol is a switch: a checker that finds nothing without a rule is no checker, or
// the rule is for nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

namespace l3::test::protocol {

/// The rules. Each comment says what does it in the code.
struct rules {
  bool acknowledge_after_commit = true; ///< block_receiver::step: commit(), then answer_all()
  bool welcome_after_commit = true;     ///< the same, for the welcome
  bool keep_until_acknowledged = true;  ///< outbox, spool: freed by stored_up_to()
  bool go_back_at_welcome = true;       ///< forwarder::welcomed
  bool go_back_after_refusal = true;    ///< forwarder::refused
  bool go_back_after_silence = true;    ///< forwarder::act
  bool drop_what_is_stored = true;      ///< block_receiver::take_block
  bool refuse_gaps = true;              ///< block_receiver::take_block
  bool begin_where_hello_says = true;   ///< block_receiver::take_block: peer::first
  bool ask_for_hello_again = true;      ///< block_receiver::take_block: a block before `first`
  bool answer_strangers = true;         ///< block_receiver::take_message: a refusal without text
  bool keep_to_credit = true;           ///< forwarder::send_blocks
  bool empty_for_damaged = true;        ///< spool::read: an empty block of the same number
  bool believe_welcome_of_remainder = true;         ///< forwarder::welcomed: is_remainder()
  bool believe_acknowledgement_of_remainder = true; ///< forwarder::acknowledged: the same
};

/// What may go wrong, and how often.
struct faults {
  std::uint8_t breaks = 0;   ///< of the connection, at any moment, noticed at any later one
  std::uint8_t kills = 0;    ///< of the receiver: what was written stays
  std::uint8_t crashes = 0;  ///< of its machine: what was not committed is gone
  std::uint8_t moves = 0;    ///< the receiver begins an empty store elsewhere
  std::uint8_t forgets = 0;  ///< the receiver has too many peers
  std::uint8_t errors = 0;   ///< of the store: a commit fails and takes back
  std::uint8_t restarts = 0; ///< of the daemon; its lane lies in the spool
  std::uint8_t damages = 0;  ///< of a block in the spool
};

inline constexpr std::uint8_t credit = 2;
inline constexpr std::uint8_t most_under_way = 2; ///< messages each way, then ZeroMQ takes no more

enum class kind : std::uint8_t {
  hello,
  block,
  heartbeat,
  welcome,
  acknowledgement,
  stranger,
  refusal
};

struct message {
  kind what = kind::hello;
  std::uint8_t number = 0;
};

struct channel {
  std::array<message, most_under_way> queue{};
  std::uint8_t size = 0;

  [[nodiscard]] bool full() const { return size == most_under_way; }
  void put(message m) {
    if (!full()) queue[size++] = m; // a ROUTER drops, a DEALER is asked before
  }
  message take() {
    const message m = queue[0];
    std::move(queue.begin() + 1, queue.end(), queue.begin());
    queue[--size] = {};
    return m;
  }
  void keep(std::uint8_t n) {
    for (; size > n; --size) queue[size - 1U] = {};
  }
  [[nodiscard]] bool has(kind what, std::uint8_t number) const {
    return std::any_of(queue.begin(), queue.begin() + size, [&](const message& m) {
      return m.what == what && (number == 0 || m.number == number);
    });
  }
};

/// Nothing but bytes without padding: it is hashed and compared as such.
struct state {
  std::uint8_t blocks = 0; ///< that there will be

  // The daemon's lane.
  std::uint8_t sealed = 0;
  std::uint8_t acknowledged = 0;
  std::uint8_t next = 1;
  std::uint8_t window = 0;
  std::uint8_t welcomed = 0;
  std::uint8_t unnoticed = 0; ///< news of the connection that the forwarder has not read yet
  std::uint8_t remainder = 0; ///< the lane is that of an earlier process
  std::uint8_t damaged = 0;   ///< this block

  // The connection, and messages of the last one that the receiver has not read yet.
  std::uint8_t linked = 0;
  channel to, back, stale;

  // The receiver.
  std::uint8_t appended = 0;
  std::uint8_t committed = 0;
  std::uint8_t elsewhere = 0; ///< stored in a store before this one
  std::uint8_t known = 0;
  std::uint8_t first = 0;
  std::uint8_t reachable = 0; ///< it was last heard over the present connection
  std::uint8_t acknowledge = 0;
  std::uint8_t welcome = 0;

  faults left;
  std::uint8_t doubled = 0;
  std::uint8_t gap = 0;

  [[nodiscard]] bool finished() const {
    return (sealed == blocks || remainder != 0) && acknowledged == sealed;
  }
};
static_assert(std::has_unique_object_representations_v<state>);

/// Why a state must not be; null: it may.
[[nodiscard]] inline const char* wrong_with(const state& s) {
  if (s.acknowledged > std::max(s.committed, s.elsewhere)) return "acknowledged and not stored";
  if (s.doubled != 0) return "stored twice";
  if (s.gap != 0) return "stored behind a gap";
  if (s.next > s.acknowledged + credit + 1) return "more under way than there is credit";
  return nullptr;
}

class machine {
public:
  using visit = std::function<void(const char* step, const state&)>;

  explicit machine(const rules& r) : rules_(r) {}

  void successors(const state& s, const visit& to) const {
    daemon(s, to);
    receiver(s, to);
    trouble(s, to);
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
    if (s.back.size != 0) step(s, to, "hear", [&](state& n) { hear(n); });
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
        if (!rules_.keep_until_acknowledged) n.acknowledged = n.next;
        ++n.next;
      });
    }
    const auto oldest = static_cast<std::uint8_t>(s.acknowledged + 1);
    if (rules_.go_back_after_silence && s.next > oldest && !s.to.has(kind::block, oldest))
      step(s, to, "go back", [&](state& n) { n.next = oldest; });
    if (s.to.size == 0) step(s, to, "heartbeat", [](state& n) { n.to.put({kind::heartbeat, 0}); });
  }

  void hear(state& n) const {
    const message m = n.back.take();
    const auto stored = [&](std::uint8_t number) {
      if (number <= n.acknowledged || number > n.sealed) return;
      n.acknowledged = number;
      n.next = std::max<std::uint8_t>(n.next, static_cast<std::uint8_t>(number + 1));
      n.window = credit;
    };
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
    if (s.stale.size != 0)
      step(s, to, "take of the last connection", [&](state& n) { take(n, n.stale.take(), false); });
    if ((s.acknowledge | s.welcome) == 0) return;
    step(s, to, "commit and answer", [&](state& n) {
      n.committed = n.appended;
      answer_all(n);
    });
    if (s.left.errors == 0) return;
    step(s, to, "commit in vain", [&](state& n) {
      --n.left.errors;
      n.appended = n.committed;
      const bool refuse = n.acknowledge != 0;
      answer_all(n);
      if (refuse) answer(n, {kind::refusal, 0});
    });
  }

  static void answer(state& n, message m) {
    if (n.reachable != 0 && n.linked != 0) n.back.put(m);
  }
  static void answer_all(state& n) {
    if (n.welcome != 0) answer(n, {kind::welcome, n.appended});
    if (n.acknowledge != 0) answer(n, {kind::acknowledgement, n.appended});
    n.welcome = n.acknowledge = 0;
  }

  void take(state& n, message m, bool present) const {
    n.reachable = present ? 1 : 0;
    if (m.what == kind::hello) {
      n.known = 1;
      n.first = m.number;
      n.acknowledge = 0;
      n.welcome = 1;
      if (rules_.welcome_after_commit) return;
      answer(n, {kind::welcome, n.appended});
      n.welcome = 0;
      return;
    }
    if (n.known == 0) {
      if (rules_.answer_strangers) answer(n, {kind::stranger, 0});
      return;
    }
    n.acknowledge = 1;
    if (m.what != kind::block) return;
    const bool again = m.number <= n.appended;
    if (again && rules_.drop_what_is_stored) return;
    if (again) n.doubled = 1;
    auto expected = static_cast<std::uint8_t>(n.appended + 1);
    if (rules_.begin_where_hello_says) expected = std::max(expected, n.first);
    if (m.number > expected && rules_.refuse_gaps) return;
    if (m.number < expected && !again) {
      if (rules_.ask_for_hello_again) answer(n, {kind::stranger, 0});
      return;
    }
    if (m.number > expected) n.gap = 1;
    n.appended = m.number;
    if (!rules_.acknowledge_after_commit) answer(n, {kind::acknowledgement, n.appended});
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
    n.known = n.first = n.acknowledge = n.welcome = 0;
  }

  static void trouble(const state& s, const visit& to) {
    if (s.left.breaks != 0 && s.linked != 0 && s.stale.size == 0) {
      for (std::uint8_t unread = 0; unread <= s.to.size; ++unread) {
        step(s, to, "break", [&](state& n) {
          --n.left.breaks;
          disconnect(n, unread);
        });
      }
    }
    if (s.left.kills != 0) {
      step(s, to, "kill the receiver", [](state& n) {
        --n.left.kills;
        n.committed = n.appended;
        end_receiver(n);
      });
    }
    if (s.left.crashes != 0) {
      step(s, to, "crash the receiver's machine", [](state& n) {
        --n.left.crashes;
        n.appended = n.committed;
        end_receiver(n);
      });
    }
    if (s.left.moves != 0) {
      step(s, to, "store elsewhere", [](state& n) {
        --n.left.moves;
        n.elsewhere = std::max(n.elsewhere, n.committed);
        n.appended = n.committed = 0;
        end_receiver(n);
      });
    }
    if (s.left.forgets != 0 && s.known != 0) {
      step(s, to, "forget", [](state& n) {
        --n.left.forgets;
        n.known = n.first = n.acknowledge = n.welcome = 0;
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

  /// The note of what was acknowledged may be late, and the end of the spool may be torn.
  static void restart(const state& s, const visit& to) {
    for (std::uint8_t late = 0; late <= std::min<std::uint8_t>(1, s.acknowledged); ++late) {
      for (std::uint8_t torn = 0; torn <= 1 && torn + s.acknowledged - late <= s.sealed; ++torn) {
        for (std::uint8_t unread = 0; unread <= (s.stale.size == 0 ? s.to.size : 0); ++unread) {
          step(s, to, "restart the daemon", [&](state& n) {
            const channel before = n.stale;
            --n.left.restarts;
            disconnect(n, unread);
            if (before.size != 0) n.stale = before;
            n.remainder = 1;
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
