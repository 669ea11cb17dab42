// SPDX-License-Identifier: Apache-2.0
// The result of a replay: the figures of its table, its JSON report and its ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/replay/pace.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

/// Calls of a running replay to its caller.
struct replay_watch {
  /// Asked before every burst or record: true ends the replay.
  std::function<bool()> stop = [] { return false; };
  /// Gets the number of events sent after every event.
  std::function<void(std::uint64_t events)> tell = [](std::uint64_t) {};
};

/// One of the daemons to which a replay sends.
struct node_report {
  std::string to;
  std::uint64_t events = 0; ///< that it was sent, those that others have had before too
  std::uint64_t bytes = 0;
  std::string trouble; ///< why it is not there; may be empty

  std::uint64_t refused = 0; ///< UDP: datagrams that met a closed port, or no way

  // TCP.
  bool there = true;              ///< a connection stands at the end
  std::uint64_t acknowledged = 0; ///< events
  std::uint64_t handed_on = 0;    ///< events that it did not acknowledge, and that others took
  std::uint64_t known = 0;
  std::uint64_t resent = 0; ///< records
  std::uint64_t reconnections = 0;
};

struct replay_report {
  std::uint32_t run = 0;
  std::string to;
  bool finished = false;    ///< everything was sent and, over TCP, acknowledged
  bool interrupted = false; ///< by a signal
  std::string trouble;      ///< why it is not finished; may be empty

  std::uint64_t events = 0;
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0; ///< of datagrams or records, headers included; repeats too
  std::vector<spill_account> spills;
  std::vector<node_report> nodes; ///< in the order of the command line

  // UDP.
  std::uint64_t data_datagrams = 0;
  std::uint64_t trailers = 0;
  std::uint64_t ends_of_spill = 0;
  std::uint64_t dropped = 0;    ///< datagrams left out on purpose
  std::uint64_t duplicated = 0; ///< sent twice on purpose
  std::uint64_t events_dropped_from = 0;
  std::uint64_t refused = 0;      ///< datagrams to closed ports
  std::uint64_t refused_ends = 0; ///< refused ends of the last spill: a receiver may leave early

  // TCP.
  std::uint64_t acknowledged = 0; ///< events
  /// Events that the daemon had taken before, among them those of records that were sent again
  /// because a broken connection lost their acknowledgement.
  std::uint64_t known = 0;
  std::uint64_t resent = 0; ///< records
  std::uint64_t reconnections = 0;
  std::uint64_t handed_on = 0; ///< events, from a daemon that was not there to another

  // Time.
  double seconds = 0;         ///< from start to end
  double sending_seconds = 0; ///< without the gaps after a spill's last event
  double mean_delay = 0;      ///< s, of paced events
  double p99_delay = 0;
  double longest_delay = 0;
  bool paced = true;

  void set_delays(const pace_keeper& pace);
  /// Adds its figures, but its events: those that were handed on count once.
  void add(const node_report& n);
};

[[nodiscard]] std::string to_table(const replay_report& r);
[[nodiscard]] std::string to_json(const replay_report& r);
/// UDP has no acknowledgements: every event then counts as in flight. `ended`: in order, also where
/// not all was sent.
[[nodiscard]] ledger ledger_of(const replay_report& r, bool acknowledging, bool ended);

} // namespace l3
