// SPDX-License-Identifier: Apache-2.0
// The sessions that said hello to a receiver, each with the connections over which it did: only
// these may speak for it (docs/protocol.md). Both are bounded. A session or a connection that makes
// way for another loses nothing: its daemon is asked for a hello when it speaks again. Sessions
// that have stored nothing make way first, so that a peer cannot push out the others by saying
// hello as thousands of sessions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "transport/format/time.hpp"

namespace l3 {

struct link_peer {
  std::vector<std::string> connections; ///< ZeroMQ's names of those that said hello, the last last
  std::string address;                  ///< of these, the one that was heard last
  std::uint64_t first = 1;              ///< the first block that the daemon still has
  time_point heard_at;
  bool proven = false;      ///< its hellos show the token of the session
  bool stored = false;      ///< a block of it
  bool welcome = false;     ///< at the end of this step
  bool acknowledge = false; ///< likewise
  bool refuse = false;      ///< at the end of this step: the store cannot be written
  bool gone = false;        ///< it said goodbye
};

class link_peers {
public:
  static constexpr std::size_t most_sessions = 1024;
  static constexpr std::size_t most_connections = 8; ///< of a session

  /// A hello was taken. The first with a token ends what was said without one.
  link_peer& greet(std::uint64_t session, const std::string& address, bool proven, time_point now) {
    if (peers_.size() == most_sessions && !peers_.contains(session)) make_way();
    link_peer& from = peers_[session];
    if (from.proven != proven) from = {};
    from.proven = proven;
    std::erase(from.connections, address);
    if (from.connections.size() == most_connections)
      from.connections.erase(from.connections.begin());
    from.connections.push_back(address);
    from.address = address;
    from.heard_at = now;
    from.acknowledge = from.refuse = from.gone = false;
    return from;
  }

  /// Null: this session has not said hello over this connection.
  [[nodiscard]] link_peer* speaker(std::uint64_t session, const std::string& address) {
    const auto found = peers_.find(session);
    if (found == peers_.end()) return nullptr;
    const auto& all = found->second.connections;
    return std::ranges::find(all, address) != all.end() ? &found->second : nullptr;
  }
  /// Null: it has not said hello.
  [[nodiscard]] const link_peer* find(std::uint64_t session) const {
    const auto found = peers_.find(session);
    return found == peers_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] auto begin() { return peers_.begin(); }
  [[nodiscard]] auto end() { return peers_.end(); }
  [[nodiscard]] auto begin() const { return peers_.begin(); }
  [[nodiscard]] auto end() const { return peers_.end(); }

private:
  void make_way() {
    peers_.erase(std::ranges::min_element(
        peers_, {}, [](const auto& p) { return std::pair(p.second.stored, p.second.heard_at); }));
  }

  std::map<std::uint64_t, link_peer> peers_; ///< by session
};

} // namespace l3
