// SPDX-License-Identifier: Apache-2.0
// Sends a file as record streams until every record is acknowledged (docs/formats.md, section 4). A
// single daemon gets everything; several daemons get, in turn, what they can take at once. Records
// are made from the file whenever they are sent, so none is copied; a window per daemon limits the
// records in flight.
//
// Unacknowledged records of a broken or silent connection go to other daemons; the daemon is used
// again when it is back. Every wait ends: the replay gives up when nothing is acknowledged for the
// time limit. It gives up a single daemon whose connections break and which has not acknowledged
// the records of the first break within the time limit.
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
  std::vector<destination> to; ///< at least one
  replay_share share = replay_share::by_event;
  replay_rate rate;
  std::uint32_t loops = 1;
  std::uint64_t window = 256U << 20; ///< bytes of unacknowledged records per daemon
  std::chrono::nanoseconds time_limit = std::chrono::seconds(30); ///< for each wait
};

class tcp_replay {
public:
  /// Part of the time limit after which a silent one of several daemons hands on its records.
  static constexpr int silences_in_time_limit = 6;

  /// Connects. Throws std::runtime_error if no daemon can be reached.
  tcp_replay(const replay_source& source, const tcp_replay_settings& settings);

  /// Call it once. The report includes faults of network and daemons.
  replay_report run(const replay_watch& watch);

private:
  struct node {
    node_stream stream;
    std::chrono::nanoseconds patience; ///< for its silence; doubles each time
    bool given_up = false;             ///< it sent an impossible answer
  };

  [[nodiscard]] bool alone() const { return nodes_.size() == 1; }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool any_there() const;
  [[nodiscard]] bool another_there(const node& than) const;
  /// Gives up a daemon. Returns false if there is no other.
  [[nodiscard]] bool go_on_without(node& wrong);
  [[nodiscard]] std::optional<replay_step> after(const replay_step& s) const;
  /// Sets the time of the next new record.
  void plan_next();

  /// Returns false if the replay cannot continue; the report has the reason.
  [[nodiscard]] bool move_on();
  [[nodiscard]] bool has_time_left();
  void hand_on(const std::vector<replay_step>& left);
  void hand_on_of_the_silent();

  [[nodiscard]] bool send_something();
  [[nodiscard]] bool send_next();
  /// The daemon that takes the event now; nullptr if none does.
  [[nodiscard]] node_stream* taker(const replay_step& event);
  void note_event(const replay_step& s);
  /// The spill of new events; nothing between spills.
  [[nodiscard]] std::optional<replayed_spill> open_spill() const;
  void wait();
  [[nodiscard]] std::string what_waits() const;

  const replay_source& source_;
  tcp_replay_settings settings_;
  record_maker sizes_;
  schedule schedule_;
  pace_keeper pace_;
  std::vector<node> nodes_;
  std::size_t turn_ = 0;              // the next node in turn
  std::deque<replay_step> handed_on_; // events to be sent first
  bool late_spills_ = false;          // a node got events of an ended spill

  std::optional<replay_step> next_;
  schedule::slot next_slot_;
  std::chrono::nanoseconds spill_begun_{};
  double earlier_seconds_ = 0;          // sending time of earlier spills
  std::uint64_t acknowledged_ = 0;      // events, by all daemons
  std::chrono::nanoseconds progress_{}; // last acknowledgement, or last time without any owed
  replay_report report_;
};

} // namespace l3
