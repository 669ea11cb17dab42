// SPDX-License-Identifier: Apache-2.0
// The numbers that a receiver publishes, as plain values at one moment. Its thread fills a snapshot
// twice a second; HTTP responses use the latest one. families.cpp describes each number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/family.hpp"
#include "monitor/process_usage.hpp"
#include "monitor/trouble.hpp"
#include "receiver/block_receiver.hpp"
#include "transport/accounting/enumerator_names.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

/// The receiver's view of a node.
enum class node_state : std::uint8_t {
  sending, ///< its events were stored in the last ten seconds
  idle,    ///< connected, no recent events
  missing, ///< silent without a goodbye
  ended,   ///< it said goodbye
  unknown, ///< in the store, but not heard since the receiver's start
  count_
};

/// Number of a daemon's blocks, their events, and their bytes.
struct stored_counts {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0; ///< of payload

  /// Blocks that were taken back come again and count once.
  void rise_to(const stored_counts& now, const stored_counts& at_start) {
    blocks = std::max(blocks, now.blocks - std::min(now.blocks, at_start.blocks));
    events = std::max(events, now.events - std::min(now.events, at_start.events));
    bytes = std::max(bytes, now.bytes - std::min(now.bytes, at_start.bytes));
  }
};

/// A daemon by its node number, with all its sessions.
struct daemon_snapshot {
  std::uint32_t node = 0;
  std::string name; ///< name of its key, or its address; empty: not heard
  node_state state = node_state::unknown;
  std::uint32_t run = 0; ///< of its latest session
  bool connected = false;
  std::optional<double> silent; ///< s since it was heard; nothing: not since the start
  stored_counts in_store;
  stored_counts stored; ///< since the receiver's start; never decreases
  double events_per_second = 0;
  double bytes_per_second = 0;
  std::optional<double> lag;           ///< s from sealing its last block to storing it
  std::optional<double> last_block;    ///< s since it was stored
  std::optional<event_key> last_event; ///< in the store; nothing: none or unknown
};

/// A part of a run that a node took but did not deliver (node_presence.hpp).
struct missing_snapshot {
  std::uint32_t node = 0;
  std::uint32_t run = 0;
  std::optional<event_key> after;  ///< the node's last event in the store, if known
  std::optional<event_key> before; ///< the first one after its restart
  double silent = 0;               ///< s since it fell silent
  std::optional<double> away;      ///< s until it was back; nothing: it is still missing
  bool stored = false;             ///< the store has blocks of it
};

struct disk_snapshot {
  std::uint64_t bytes = 0;
  std::uint64_t free = 0;             ///< for this user
  std::optional<double> seconds_left; ///< at the current rate; nothing: no data are written
};

struct receive_snapshot {
  static constexpr std::size_t most_daemons = 48; ///< the daemons heard last

  std::string version;
  std::string commit;
  std::string endpoint;
  std::string folder;
  double started = 0;       ///< s since 1970-01-01 UTC
  double uptime = 0;        ///< s
  trouble_list troubles;    ///< troubles.hpp
  std::string store_error;  ///< text; empty: no error
  std::string ledger_error; ///< likewise
  std::uint64_t memory_planned = 0;
  std::uint64_t log_lines_left_out = 0;
  process_usage process;
  receive_counters counters;
  std::uint64_t stored_events = 0; ///< in the store
  std::uint64_t stored_bytes = 0;  ///< of payload
  std::uint64_t sessions = 0;
  std::optional<disk_snapshot> disk;    ///< nothing: the file system does not tell
  std::vector<daemon_snapshot> daemons; ///< by node
  std::uint64_t daemons_left_out = 0;
  std::vector<missing_snapshot> missing;           ///< of nodes that are back, then of missing ones
  std::map<std::uint32_t, std::string> same_nodes; ///< used by several daemons, with the daemons
  std::map<std::string, std::uint64_t> published;  ///< samples of stored events, by line

  /// Whether incoming blocks are stored.
  [[nodiscard]] bool ready() const { return store_error.empty(); }
  /// "receiving", or the most urgent trouble.
  [[nodiscard]] std::string state_text() const;
};

/// Descriptions of a receiver's numbers, in the order of /metrics. The number of series depends
/// only on the number of daemons.
[[nodiscard]] std::vector<family> families_of(const receive_snapshot& s);

/// "event 17 of spill 5".
[[nodiscard]] std::string event_in_words(const event_key& event);

} // namespace l3
