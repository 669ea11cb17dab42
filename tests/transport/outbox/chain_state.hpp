// SPDX-License-Identifier: Apache-2.0
// The way of an event from a sender over TCP into a store as a small machine (docs/protocol.md,
// "From the sender to the store"): a sender that keeps what is not acknowledged, a few lives of a
// daemon with memory and disk, a receiver with its store. What one lane says to the receiver is the
// other model's (protocol_state.hpp); here a block is under way or taken. A block holds one event.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace l3::test::chain {

/// The rules. Each comment says what does it in the code.
struct rules {
  bool send_again = true;                  ///< tcp_replay::take_up_again
  bool know_repeats = true;                ///< event_builder::is_repeat: admitted in this life
  bool repeat_waits_for_original = true;   ///< event_builder::counted
  bool wait_for_disk_or_store = true;      ///< safe_batches::secured
  bool wait_for_all_before = true;         ///< safe_batches: the first that is not secured
  bool wait_for_open_block = true;         ///< outbox::batch_done, spilling_outbox::batch_done
  bool nothing_is_safe_after_loss = true;  ///< pipeline::give_up: unsafe_
  bool keep_until_stored = true;           ///< spool_backlog::stored_up_to
  bool leave_when_all_is_on_disk = true;   ///< spilling_outbox::finish, all_on_disk
  bool send_what_was_found = true;         ///< spool_backlog::next_lane
  bool begin_where_hello_says = true;      ///< block_receiver::take_block: peer::first
  bool believe_more_of_remainder = true;   ///< send_window::acknowledged: possibly_sent
  bool believe_nothing_unsent = true;      ///< send_window::is_impossible
  bool empty_for_missing = true;           ///< spool::read: a number that the lane leaves out
  bool empty_behind_what_is_stored = true; ///< the same, when what is before it was released
  bool leave_out_repeats = true;           ///< block_receiver::without_repeats
  bool recall = true;                      ///< recent_events: recall() at the start
  bool take_back_from_memory = true;       ///< block_receiver::forget_what_is_not_stored
  bool commit_before_leaving_out = true;   ///< block_receiver::take_block
};

/// What may go wrong, and how often.
struct faults {
  std::uint8_t kills = 0;      ///< of the daemon
  std::uint8_t stops = 0;      ///< of the daemon by SIGTERM, with or without time to drain
  std::uint8_t resets = 0;     ///< of the sender's connection
  std::uint8_t deaths = 0;     ///< of the receiver: what was written stays
  std::uint8_t power_cuts = 0; ///< of its machine: any of what was not committed is gone
  std::uint8_t errors = 0;     ///< of the store: a commit fails and takes back
  std::uint8_t damages = 0;    ///< of a block on the daemon's disk while it is down
  std::uint8_t lies = 0;       ///< of the receiver: it claims what it was not sent
};

inline constexpr std::uint8_t most_events = 4;
inline constexpr std::uint8_t most_lives = 3;

using number = std::uint8_t; ///< of an event or a block, from 1

/// A bit for each number: 1 is the lowest.
constexpr std::uint8_t bit(number n) { return static_cast<std::uint8_t>(1U << (n - 1U)); }
constexpr std::uint8_t up_to(number n) { return static_cast<std::uint8_t>((1U << n) - 1U); }
constexpr number lowest(std::uint8_t numbers) {
  return static_cast<number>(std::countr_zero(numbers) + 1);
}
constexpr number highest(std::uint8_t numbers) {
  return static_cast<number>(std::bit_width(numbers));
}

/// The blocks of a session. Those of a life's memory (and their copies), or those that found no
/// room there.
struct lane {
  std::uint8_t events = 0; ///< a bit for each; block n holds the n-th of them
  std::uint8_t disk = 0;   ///< a bit for each block that is there and needed
  // The receiver's.
  std::uint8_t last = 0;      ///< block in the store
  std::uint8_t committed = 0; ///< the same
  std::uint8_t first = 0;     ///< that the hello told of
  std::uint8_t stale = 0; ///< up to this one they are still on their way from a daemon that is dead

  [[nodiscard]] std::uint8_t blocks() const {
    return static_cast<std::uint8_t>(std::popcount(events));
  }
  [[nodiscard]] std::uint8_t event(std::uint8_t block) const {
    std::uint8_t left = events;
    for (; block > 1; --block) left = static_cast<std::uint8_t>(left & (left - 1));
    return lowest(left);
  }
  /// The block that the receiver would take; with the rule.
  [[nodiscard]] std::uint8_t expected() const {
    return std::max(static_cast<std::uint8_t>(last + 1), first);
  }
};

enum class fault_seen : std::uint8_t { none, stored_twice, taken_twice, left_behind };
enum class opened : std::uint8_t { none, memory, disk };

/// The lane of an event of which nothing else is left to be known.
inline constexpr std::uint8_t a_lane_that_is_over = 0xff;

/// Nothing but bytes without padding: it is hashed and compared as such.
struct state {
  std::uint8_t events = 0; ///< that there are
  std::uint8_t lives = 0;

  // Fewer states: each block is sealed as soon as it has its event; memory is always full.
  std::uint8_t blocks_stay_open = 1;
  std::uint8_t has_memory = 1;

  // The sender. What it hears matters when it connects again: until then it may have heard of any
  // event up to `safe`.
  std::uint8_t acknowledged = 0;
  std::uint8_t safe = 0;
  std::uint8_t next = 1;

  // The daemon.
  std::uint8_t life = 0; ///< from 0
  std::uint8_t up = 1;
  std::uint8_t draining = 0;
  opened open = opened::none; ///< the last event's block is not sealed
  std::uint8_t given_up = 0;  ///< an event for which there was no room in time
  std::uint8_t stored = 0;    ///< blocks in memory that the receiver is known to have
  std::uint8_t copied = 0;    ///< or that have a copy
  std::uint8_t written = 0;   ///< blocks of the lane on disk
  std::uint8_t own_stored = 0;
  std::uint8_t backlog = 0; ///< the lane that is sent from disk, from 1; 0: none
  std::uint8_t backlog_stored = 0;

  std::array<lane, 2U * most_lives> lanes{}; ///< two for each life: memory, disk

  // The receiver: for each event, the lane from 1 with which it is stored, or remembered.
  std::array<std::uint8_t, most_events> holder{};
  std::array<std::uint8_t, most_events> remembered{};

  std::uint8_t damaged = 0; ///< a bit for each event whose block was damaged on disk: counted
  faults left;
  fault_seen seen = fault_seen::none;

  [[nodiscard]] lane& memory() { return lanes[2U * life]; }
  [[nodiscard]] const lane& memory() const { return lanes[2U * life]; }
  [[nodiscard]] lane& disk() { return lanes[2U * life + 1U]; }
  [[nodiscard]] const lane& disk() const { return lanes[2U * life + 1U]; }
  [[nodiscard]] std::uint8_t taken() const {
    return static_cast<std::uint8_t>(memory().events | disk().events);
  }
  [[nodiscard]] std::uint8_t sealed_in_memory() const {
    return static_cast<std::uint8_t>(memory().blocks() - (open == opened::memory ? 1 : 0));
  }
  [[nodiscard]] std::uint8_t sealed_for_disk() const {
    return static_cast<std::uint8_t>(disk().blocks() - (open == opened::disk ? 1 : 0));
  }
  [[nodiscard]] bool sends_own_lane() const { return backlog == 2U * life + 2U; }
  [[nodiscard]] bool another_life() const { return life + 1 < lives; }

  [[nodiscard]] bool is_on_disk(std::uint8_t event) const {
    return std::any_of(lanes.begin(), lanes.end(), [&](const lane& l) {
      if ((l.events & bit(event)) == 0) return false;
      const auto block = static_cast<std::uint8_t>(
          std::popcount(static_cast<std::uint8_t>(l.events & up_to(event))));
      return (l.disk & bit(block)) != 0;
    });
  }
  [[nodiscard]] bool is_kept(std::uint8_t event) const {
    return holder[event - 1U] != 0 || (damaged & bit(event)) != 0 || is_on_disk(event);
  }
  [[nodiscard]] bool finished() const {
    if (up == 0 || open != opened::none || safe != events) return false;
    if (stored != sealed_in_memory()) return false;
    for (std::uint8_t e = 1; e <= events; ++e)
      if (holder[e - 1U] == 0 && (damaged & bit(e)) == 0) return false;
    return std::all_of(lanes.begin(), lanes.end(), [](const lane& l) { return l.disk == 0; });
  }
};
static_assert(std::has_unique_object_representations_v<state>);

/// Why a state must not be; null: it may.
[[nodiscard]] inline const char* wrong_with(const state& s) {
  switch (s.seen) {
  case fault_seen::stored_twice: return "stored twice";
  case fault_seen::taken_twice: return "taken twice in one life";
  case fault_seen::left_behind: return "left behind by a daemon that had time to drain";
  case fault_seen::none: break;
  }
  for (std::uint8_t e = 1; e <= s.safe; ++e)
    if (!s.is_kept(e)) return "acknowledged and lost";
  return nullptr;
}

} // namespace l3::test::chain
