// SPDX-License-Identifier: Apache-2.0
// What a receiver tells about itself at one moment, as plain numbers. Its thread fills a snapshot
// twice a second; an answer over HTTP is made of the latest one. receive_families.cpp describes
// each number to its readers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/family.hpp"
#include "monitor/process_usage.hpp"
#include "transport/accounting/enumerator_names.hpp"
#include "transport/format/event_key.hpp"
#include "transport/store/block_receiver.hpp"

namespace l3 {

/// Why a receiver is degraded.
enum class receive_trouble : std::uint8_t {
  store_fails,  ///< nothing is stored, and daemons are refused
  disk_low,     ///< full within an hour at the present rate, or to 95 %
  node_missing, ///< a daemon fell silent without a goodbye (node_presence.hpp)
  same_node,    ///< several daemons say one node number
  ledger_fails, ///< the ledger cannot be written; blocks are stored
  count_
};

/// How a node is, as the receiver sees it.
enum class node_state : std::uint8_t {
  sending, ///< events of it were stored in the last ten seconds
  idle,    ///< it is there
  missing, ///< silent without a goodbye
  ended,   ///< it said goodbye
  unknown, ///< in the store, and not heard since the receiver's start
  count_
};

/// How many blocks of a daemon, the events in them, and their bytes.
struct stored_counts {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0; ///< of payload

  /// What is taken back comes again: it counts once.
  void rise_to(const stored_counts& now, const stored_counts& at_start) {
    blocks = std::max(blocks, now.blocks - std::min(now.blocks, at_start.blocks));
    events = std::max(events, now.events - std::min(now.events, at_start.events));
    bytes = std::max(bytes, now.bytes - std::min(now.bytes, at_start.bytes));
  }
};

/// A daemon, by its node number: all its sessions.
struct daemon_snapshot {
  std::uint32_t node = 0;
  std::string name; ///< its key's, or its address; empty: not heard
  node_state state = node_state::unknown;
  std::uint32_t run = 0; ///< of its latest session
  bool connected = false;
  std::optional<double> silent; ///< s since it was heard; nothing: not since the receiver's start
  stored_counts in_store;
  stored_counts stored; ///< since the receiver's start; never falls
  double events_per_second = 0;
  double bytes_per_second = 0;
  std::optional<double> lag;           ///< s from sealing its last block to storing it
  std::optional<double> last_block;    ///< s since that was stored
  std::optional<event_key> last_event; ///< in the store; nothing: none, or it is not known
};

/// A part of a run that a node took, and that did not come (node_presence.hpp).
struct missing_snapshot {
  std::uint32_t node = 0;
  std::uint32_t run = 0;
  std::optional<event_key> after;  ///< the last of the node's events in the store, if it is known
  std::optional<event_key> before; ///< the first when it had begun anew
  double silent = 0;               ///< s since it fell silent
  std::optional<double> away;      ///< s until it was back; nothing: it is not
  bool stored = false;             ///< the store has blocks of it
};

struct disk_snapshot {
  std::uint64_t bytes = 0;
  std::uint64_t free = 0;             ///< for this user
  std::optional<double> seconds_left; ///< at the present rate; nothing: nothing is written
};

struct receive_snapshot {
  static constexpr std::size_t most_daemons = 48; ///< those that were heard last

  std::string version;
  std::string commit;
  std::string endpoint;
  std::string folder;
  double started = 0; ///< s since 1970-01-01 UTC
  double uptime = 0;  ///< s
  std::array<bool, enumerators<receive_trouble>> has{};
  std::string store_error;  ///< in words; empty: none
  std::string ledger_error; ///< likewise
  std::uint64_t memory_planned = 0;
  std::uint64_t log_lines_left_out = 0;
  process_usage process;
  receive_counters counters;
  std::uint64_t stored_events = 0; ///< in the store
  std::uint64_t stored_bytes = 0;  ///< of payload
  std::uint64_t sessions = 0;
  std::optional<disk_snapshot> disk;    ///< nothing: the file system does not say
  std::vector<daemon_snapshot> daemons; ///< by node
  std::uint64_t daemons_left_out = 0;
  std::vector<missing_snapshot> missing; ///< of nodes that are back, then of those that are not
  std::map<std::uint32_t, std::string> same_nodes; ///< said by several daemons: who they are

  /// Blocks that come now are stored.
  [[nodiscard]] bool ready() const { return store_error.empty(); }
  /// "receiving", "receiving, degraded: disk_low".
  [[nodiscard]] std::string state_text() const;
};

/// What a receiver tells about itself: the description of each of its numbers, in the order of
/// /metrics. The number of series depends on that of the daemons only.
[[nodiscard]] std::vector<family> families_of(const receive_snapshot& s);

/// "event 17 of spill 5".
[[nodiscard]] std::string event_in_words(const event_key& event);
/// What a person is told to do about the worst trouble of a receiver: one sentence for its page,
/// its /status and its /readyz; empty: nothing is wrong.
[[nodiscard]] std::string advice(const receive_snapshot& s);

} // namespace l3
