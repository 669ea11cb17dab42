// SPDX-License-Identifier: Apache-2.0
// The results of a replay for its table, its JSON report and its ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/replay/pace.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {

/// Callbacks of a running replay.
struct replay_watch {
  /// Called before every burst or record: true ends the replay.
  std::function<bool()> stop = [] { return false; };
  /// Called after every event with the number of events sent.
  std::function<void(std::uint64_t events)> tell = [](std::uint64_t) {};
};

/// One of the daemons of a replay.
struct node_report {
  std::string to;
  std::uint64_t events = 0; ///< events sent to it, including those that others also had
  std::uint64_t bytes = 0;
  std::string trouble; ///< why it is absent; may be empty

  std::uint64_t refused = 0; ///< UDP: datagrams to a closed port or an unreachable host

  // TCP.
  bool there = true;              ///< connected at the end
  std::uint64_t acknowledged = 0; ///< events
  std::uint64_t handed_on = 0;    ///< unacknowledged events that others took
  std::uint64_t known = 0;
  std::uint64_t resent = 0; ///< records
  std::uint64_t reconnections = 0;
};

struct replay_report {
  std::uint32_t run = 0;
  std::string to;
  bool finished = false;    ///< everything was sent and, over TCP, acknowledged
  bool interrupted = false; ///< by a signal
  std::string trouble;      ///< why it did not finish; may be empty

  std::uint64_t events = 0;
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0; ///< of datagrams or records, including headers and repeats
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
  std::uint64_t refused_ends = 0; ///< refused ends of the last spill: a receiver may end early

  // TCP.
  std::uint64_t acknowledged = 0; ///< events
  /// Events that the daemon had already taken, including repeated records whose acknowledgement was
  /// lost with a connection.
  std::uint64_t known = 0;
  std::uint64_t resent = 0; ///< records
  std::uint64_t reconnections = 0;
  std::uint64_t handed_on = 0; ///< events passed from an absent daemon to another

  // Times.
  double seconds = 0;         ///< from start to end
  double sending_seconds = 0; ///< without the gaps after the spills' last events
  double mean_delay = 0;      ///< s, of paced events
  double p99_delay = 0;
  double longest_delay = 0;
  bool paced = true;

  void set_delays(const pace_keeper& pace);
  /// Adds its counts except events, because events passed on count once.
  void add(const node_report& n);
};

[[nodiscard]] std::string to_table(const replay_report& r);
[[nodiscard]] std::string to_json(const replay_report& r);
/// UDP has no acknowledgements, so every event counts as in flight. `ended`: ended in order, even
/// if not everything was sent.
[[nodiscard]] ledger ledger_of(const replay_report& r, bool acknowledging, bool ended);

} // namespace l3
