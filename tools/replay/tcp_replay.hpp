// SPDX-License-Identifier: Apache-2.0
// Sends a file as record streams until every record is acknowledged (docs/formats.md, section 4).
// An only daemon gets all; of several each gets, by turns, what it can take at once. Records are
// made from the file each time they are sent, so none is copied; a window for each daemon bounds
// how much may be under way. What a daemon has not acknowledged when its connection breaks, or
// after a silence, goes to others; it is used again when it is back. Every wait ends: the replay
// gives up when nothing is acknowledged for the time limit, and gives up an only daemon whose
// connections break and which has not acknowledged in the time limit what was under way at the
// first break.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/replay/node_stream.hpp"
#include "tools/replay/report.hpp"
#include "tools/replay/source.hpp"

namespace l3 {

struct tcp_replay_settings {
  std::vector<destination> to; ///< one at least
  replay_share share = replay_share::by_event;
  replay_rate rate;
  std::uint32_t loops = 1;
  std::uint64_t window = 256U << 20; ///< bytes of records not acknowledged, of each daemon
  std::chrono::nanoseconds time_limit = std::chrono::seconds(30); ///< for any wait
};

class tcp_replay {
public:
  /// Of the time limit, so much silence makes a daemon of several hand on what it has.
  static constexpr int silences_in_time_limit = 6;

  /// Connects. Throws std::runtime_error if no daemon is there.
  tcp_replay(const replay_source& source, const tcp_replay_settings& settings);

  /// Call once. The report has what the network or the daemons did.
  replay_report run(const replay_watch& watch);

private:
  struct node {
    node_stream stream;
    std::chrono::nanoseconds patience; ///< with its silence: doubles each time that it is over
    bool given_up = false;             ///< what it says no daemon says
  };

  [[nodiscard]] bool alone() const { return nodes_.size() == 1; }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool any_there() const;
  [[nodiscard]] bool another_there(const node& than) const;
  /// Ends what is wrong with one daemon. False: there is no other.
  [[nodiscard]] bool go_on_without(node& wrong);
  [[nodiscard]] std::optional<replay_step> after(const replay_step& s) const;
  /// When the next new record is due.
  void plan_next();

  /// False: the replay cannot go on; the report says why.
  [[nodiscard]] bool move_on();
  [[nodiscard]] bool has_time_left();
  void hand_on(const std::vector<replay_step>& left);
  void hand_on_of_the_silent();

  [[nodiscard]] bool send_something();
  [[nodiscard]] bool send_next();
  /// The daemon that takes the event now; nullptr: none does.
  [[nodiscard]] node_stream* taker(const replay_step& event);
  void note_event(const replay_step& s);
  /// The spill that new events are of; nothing between spills.
  [[nodiscard]] std::optional<replayed_spill> open_spill() const;
  void wait();
  [[nodiscard]] std::string what_waits() const;

  const replay_source& source_;
  tcp_replay_settings settings_;
  record_maker sizes_;
  schedule schedule_;
  pace_keeper pace_;
  std::vector<node> nodes_;
  std::size_t turn_ = 0;              // of the node that is next
  std::deque<replay_step> handed_on_; // events to be sent before anything new
  bool late_spills_ = false;          // a node was given events of a spill that had ended

  std::optional<replay_step> next_;
  schedule::slot next_slot_;
  std::chrono::nanoseconds spill_begun_{};
  double earlier_seconds_ = 0;          // of sending, in the spills before
  std::uint64_t acknowledged_ = 0;      // events, by all
  std::chrono::nanoseconds progress_{}; // the last acknowledgement, or time that none was owed
  replay_report report_;
};

} // namespace l3
