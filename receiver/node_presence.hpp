// SPDX-License-Identifier: Apache-2.0
// Finds the missing nodes of a farm. A daemon that ends says goodbye, and a living one speaks at
// least once a second. A node that is silent for two seconds without a goodbye, or for five while
// its machine answers, has died or lost its link, and its events after the last stored one are
// missing. The receiver reports run, spill and node, and the outcome when the node is back. Daemons
// with the same node number hide each other's death, so they are reported.
// It uses no socket and no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "receiver/link_peers.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// A part of a run that a node took but did not deliver.
struct missing_part {
  std::uint32_t node = 0;
  std::uint32_t run = 0;
  std::uint64_t session = 0;       ///< the node's session that stored last
  std::optional<event_key> after;  ///< its last stored event; nothing: unknown
  bool stored = false;             ///< the store has blocks of the session
  std::optional<event_key> before; ///< the first stored event after the node's restart
  std::uint64_t followed_by = 0;   ///< the session after its restart; 0: none yet
  time_point silent_since;
  std::optional<time_point> back_at; ///< nothing: the node is still missing
};

class node_presence {
public:
  /// Twice the longest silence of a living daemon.
  static constexpr std::chrono::seconds silence_limit{2};
  /// How long a dead daemon may be heard beside its immediate successor.
  static constexpr std::chrono::seconds patience_with_several{5};
  /// Limit for parts of nodes that are back, of which the oldest is forgotten first. Also the limit
  /// for nodes missing at the same time; further ones are not reported.
  static constexpr std::size_t most_parts = 64;

  /// Call it a few times a second. Returns log lines about nodes that are back; troubles.cpp names
  /// the missing ones.
  [[nodiscard]] std::vector<std::string> look(const link_peers& peers, time_point now);

  [[nodiscard]] bool is_missing(std::uint32_t node) const { return absent_.contains(node); }
  /// Node numbers that several daemons use, with the daemons: "address 10.0.0.1, key b".
  [[nodiscard]] std::map<std::uint32_t, std::string> said_by_several() const;
  /// Parts of nodes that are back, the oldest first, then parts of missing nodes.
  [[nodiscard]] std::vector<missing_part> parts() const;

private:
  using sessions = std::map<std::uint64_t, const link_peer*>;
  /// Properties of sessions, kept for later comparison.
  struct speakers {
    void add(const sessions& all);
    std::set<std::uint64_t> sessions;
    std::set<std::uint16_t> processes; ///< the marks in their hellos
  };
  struct absence {
    missing_part part;
    speakers own;    ///< sessions of the node that fell silent
    speakers others; ///< sessions that had ended before

    /// Whether the peer is the process that fell silent.
    [[nodiscard]] bool is_of_it(const link_peer& peer) const;
    /// Whether the peer is another process that took its place.
    [[nodiscard]] bool is_of_its_successor(std::uint64_t session, const link_peer& peer) const;
  };
  struct several_daemons {
    time_point since;
    std::string who; ///< empty: not reported yet
  };
  struct node_sessions {
    sessions there;
    sessions silent; ///< without a goodbye, and unsettled
    sessions ended;  ///< with a goodbye
  };

  [[nodiscard]] std::map<std::uint32_t, node_sessions> sort(const link_peers& peers,
                                                            time_point now);
  void look_at_silent(std::uint32_t node, const node_sessions& its);
  void look_at_absent(std::uint32_t node, node_sessions& its, time_point now);
  [[nodiscard]] bool is_back(const absence& from, const node_sessions& its, time_point now);
  void look_at_number(std::uint32_t node, const node_sessions& its, time_point now);
  void add_past(const absence& from);
  void settle(const sessions& silent);
  void note_first_events(const link_peers& peers);

  std::multimap<std::uint32_t, absence> absent_;     ///< by node
  std::map<std::uint32_t, several_daemons> several_; ///< likewise
  std::deque<absence> past_;
  std::set<std::uint64_t> settled_; ///< reported sessions that are still silent
  std::vector<std::string> news_;
};

/// "after event 17 of spill 5", or another description of the place.
[[nodiscard]] std::string where_it_breaks_off(const missing_part& part);

} // namespace l3
