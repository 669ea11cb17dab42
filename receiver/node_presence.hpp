// SPDX-License-Identifier: Apache-2.0
// Which nodes of a farm are missing. A daemon that ends says goodbye, and one that lives speaks at
// least once a second: a node that is silent for two seconds without a goodbye has died, or is cut
// off, and what it took after its last stored event is missing. The receiver names it by run, spill
// and node, and says what became of it when the node is back. Daemons that say one node number hide
// each other's death: they are told apart, and told. There is no socket in it and no clock.
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

/// A part of a run that a node took, and that did not come.
struct missing_part {
  std::uint32_t node = 0;
  std::uint32_t run = 0;
  std::uint64_t session = 0;       ///< of the node, the one that stored last
  std::optional<event_key> after;  ///< the last event of it that was stored; nothing: not known
  bool stored = false;             ///< the store has blocks of it
  std::optional<event_key> before; ///< the first that was stored when the node had begun anew
  std::uint64_t followed_by = 0;   ///< the session in which it began anew; 0: none yet
  time_point silent_since;
  std::optional<time_point> back_at; ///< nothing: the node is still missing
};

class node_presence {
public:
  /// Twice as long as a daemon that lives is ever silent.
  static constexpr std::chrono::seconds silence_limit{2};
  /// A lane of a daemon is heard no later than this after the other: then it is known whether both
  /// are silent, though another daemon says the same node number.
  static constexpr std::chrono::seconds silence_of_one_of_several{3};
  /// So long a daemon that was started anew at once may be heard beside the one that died.
  static constexpr std::chrono::seconds patience_with_several{5};
  /// Parts of nodes that are back, of which the oldest is forgotten for another; and nodes that are
  /// missing at a time, beyond which none is told.
  static constexpr std::size_t most_parts = 64;
  /// Lines for the log a call; the next one has more. What is missing is known at once.
  static constexpr std::size_t most_news = 8;

  /// To be called a few times a second. What is new, as lines for the log.
  [[nodiscard]] std::vector<std::string> look(const link_peers& peers, time_point now);

  [[nodiscard]] bool is_missing(std::uint32_t node) const { return absent_.contains(node); }
  [[nodiscard]] bool any_missing() const { return !absent_.empty(); }
  /// Node numbers that several daemons say, and who they are: "address 10.0.0.1, key b".
  [[nodiscard]] std::map<std::uint32_t, std::string> said_by_several() const;
  /// Those of nodes that are back, the oldest first, then those of nodes that are missing.
  [[nodiscard]] std::vector<missing_part> parts() const;

private:
  using sessions = std::map<std::uint64_t, const link_peer*>;
  /// What is known later of sessions that were looked at.
  struct speakers {
    void add(const sessions& all);
    std::set<std::uint64_t> sessions;
    std::set<std::uint16_t> processes; ///< of the marks that they say; older daemons say none
  };
  struct absence {
    missing_part part;
    speakers own;    ///< all of the node's that fell silent
    speakers others; ///< that spoke then, of another daemon, or had said goodbye

    /// This is the process that fell silent.
    [[nodiscard]] bool is_of_it(std::uint64_t session, const link_peer& peer) const;
    /// This is another one, in its place.
    [[nodiscard]] bool is_of_its_successor(std::uint64_t session, const link_peer& peer) const;
  };
  struct several_daemons {
    time_point since;
    std::string who;
    bool told = false;
  };
  struct node_sessions {
    sessions there;
    sessions silent; ///< without a goodbye, and not settled
    sessions ended;  ///< with a goodbye
  };

  [[nodiscard]] std::map<std::uint32_t, node_sessions> sort(const link_peers& peers,
                                                            time_point now);
  void look_at_one_there(std::uint32_t node, const node_sessions& its, time_point now);
  void look_at_absent(std::uint32_t node, node_sessions& its, time_point now);
  [[nodiscard]] bool is_back(const absence& from, const node_sessions& its, time_point now);
  void look_at_number(std::uint32_t node, const node_sessions& its, time_point now);
  [[nodiscard]] bool is_said_by_several(std::uint32_t node) const;
  void add_past(const absence& from);
  void settle(const sessions& silent);
  [[nodiscard]] std::vector<std::string> next_news();
  void note_first_events(const link_peers& peers);

  std::multimap<std::uint32_t, absence> absent_;     ///< by node
  std::map<std::uint32_t, several_daemons> several_; ///< likewise
  std::deque<absence> past_;
  std::set<std::uint64_t> settled_; ///< sessions that are told, and silent still
  std::deque<std::string> news_;    ///< few more than `most_parts`
};

/// "after event 17 of spill 5", or what else is known.
[[nodiscard]] std::string where_it_breaks_off(const missing_part& part);

} // namespace l3
