// SPDX-License-Identifier: Apache-2.0
// The protocol of the output link as a small machine (docs/protocol.md): what it may do and what
// may happen to it. A state is a few bytes: one lane of a daemon, a link that breaks, a receiver
// with its store. Each rule of the protocol is a switch: a checker that finds nothing without a
// rule is no checker, or the rule is for nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace l3::test::protocol {

/// The rules. Each comment says what does it in the code.
struct rules {
  bool acknowledge_after_commit = true;   ///< block_receiver::step: commit(), then answer_all()
  bool welcome_after_commit = true;       ///< the same, for the welcome
  bool keep_until_acknowledged = true;    ///< outbox, spool: freed by stored_up_to()
  bool go_back_at_welcome = true;         ///< send_window::welcomed
  bool go_back_after_refusal = true;      ///< send_window::refused
  bool go_back_after_silence = true;      ///< send_window::go_back_after
  bool drop_what_is_stored = true;        ///< block_receiver::take_block
  bool refuse_gaps = true;                ///< block_receiver::take_block
  bool begin_where_hello_says = true;     ///< block_receiver::take_block: peer::first
  bool ask_for_hello_again = true;        ///< block_receiver::take_block: a block before `first`
  bool answer_strangers = true;           ///< block_receiver::take_message: a refusal without text
  bool count_nothing_behind_a_gap = true; ///< store_writer: stored_numbers::add_behind_damage
  bool count_what_the_daemon_let_go = true; ///< stored_numbers::last(first)
  bool keep_to_credit = true;               ///< send_window::may_send_next
  bool empty_for_damaged = true;            ///< spool::read: an empty block of the same number
  bool believe_welcome_of_remainder = true; ///< send_window::welcomed: possibly_sent
  bool believe_acknowledgement_of_remainder = true; ///< send_window::acknowledged: the same
  bool believe_nothing_unsent = true;               ///< send_window::is_impossible
  bool store_early_in_turn = true;                  ///< block_receiver::take_blocks
  bool ask_again_while_first_is_missing = true;     ///< block_receiver::take_block
};

/// What may go wrong, and how often.
struct faults {
  std::uint8_t breaks = 0;   ///< of the connection, at any moment, noticed at any later one
  std::uint8_t kills = 0;    ///< of the receiver: what was written stays
  std::uint8_t crashes = 0;  ///< of its machine: any of what was not committed is gone
  std::uint8_t rots = 0;     ///< while it is away, an acknowledged block in its store is damaged
  std::uint8_t moves = 0;    ///< the receiver begins an empty store elsewhere
  std::uint8_t forgets = 0;  ///< the receiver has too many peers
  std::uint8_t errors = 0;   ///< of the store: a commit fails and takes back
  std::uint8_t restarts = 0; ///< of the daemon; its lane lies in the spool
  std::uint8_t damages = 0;  ///< of a block in the spool
  std::uint8_t lies = 0;     ///< of the receiver: it claims blocks that it was not sent
  /// A block comes before the one that was sent before it, over another connection.
  std::uint8_t overtakes = 0;
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
  message take_second() {
    const message m = queue[1];
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
  std::uint8_t sent = 0;      ///< the highest that a receiver is believed to have

  // The connection, and messages of the last one that the receiver has not read yet.
  std::uint8_t linked = 0;
  channel to, back, stale;

  // The receiver.
  std::uint8_t appended = 0;
  std::uint8_t committed = 0;
  std::uint8_t behind = 0;    ///< a bit for each block that is whole behind a damaged one
  std::uint8_t several = 0;   ///< the session speaks over several connections
  std::uint8_t early = 0;     ///< a bit for each block that came before its turn, and is kept
  std::uint8_t lost = 0;      ///< a bit for each block up to `committed` that is not there
  std::uint8_t rotten = 0;    ///< a bit for each block that was
  std::uint8_t elsewhere = 0; ///< stored in a store before this one
  std::uint8_t there = 0;     ///< a bit for each block that was appended
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

constexpr std::uint8_t bit(std::uint8_t block) { return static_cast<std::uint8_t>(1U << block); }

[[nodiscard]] inline bool is_in_a_store(const state& s, std::uint8_t block) {
  if (block <= s.elsewhere || (s.behind & bit(block)) != 0) return true;
  return block <= s.committed && (s.lost & bit(block)) == 0;
}

/// Why a state must not be; null: it may.
[[nodiscard]] inline const char* wrong_with(const state& s) {
  for (std::uint8_t block = 1; block <= s.acknowledged; ++block) {
    if (!is_in_a_store(s, block) && (s.rotten & bit(block)) == 0)
      return "acknowledged and not stored";
  }
  if (s.doubled != 0) return "stored twice";
  if (s.gap != 0) return "stored behind a gap";
  if (s.next > s.acknowledged + credit + 1) return "more under way than there is credit";
  return nullptr;
}

} // namespace l3::test::protocol
