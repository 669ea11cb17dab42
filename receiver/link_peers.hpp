// SPDX-License-Identifier: Apache-2.0
// The sessions that said hello to a receiver, each with its connections: only these may speak for
// it (docs/protocol.md). Both numbers are limited. A session or connection that is removed loses
// nothing: its daemon is asked for a new hello when it speaks again. Ended and silent sessions are
// removed first, then those that have stored nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// Whether one event was taken before the other. Spill numbers wrap to 0: a spill is earlier if it
/// is less than half of all numbers behind the other.
[[nodiscard]] constexpr bool is_before(const event_key& one, const event_key& other) {
  const std::uint32_t apart = (other.spill - one.spill) & l2::spill_mask;
  return apart == 0 ? one.number < other.number : apart <= l2::spill_mask / 2;
}

/// Time from sealing a block to storing it, by the clocks of both machines. `sealed_at`, `now`: ns
/// since 1970-01-01 UTC. Returns nothing for an impossible time: more than a day ahead of this
/// clock, or more than a year behind it.
[[nodiscard]] constexpr std::optional<std::chrono::nanoseconds> block_lag(std::uint64_t sealed_at,
                                                                          std::uint64_t now) {
  constexpr std::chrono::nanoseconds most_ahead = std::chrono::hours(24);
  constexpr std::chrono::nanoseconds most_behind = std::chrono::hours(24 * 366);
  const bool is_ahead = sealed_at > now;
  const std::uint64_t apart = is_ahead ? sealed_at - now : now - sealed_at;
  const auto most = static_cast<std::uint64_t>((is_ahead ? most_ahead : most_behind).count());
  if (apart > most) return std::nullopt;
  const std::chrono::nanoseconds lag(static_cast<std::int64_t>(apart));
  return is_ahead ? -lag : lag;
}

struct link_peer {
  /// A daemon sends a heartbeat every second. After this silence it counts as absent, although its
  /// machine may answer.
  static constexpr std::chrono::seconds silence_limit{5};

  std::vector<std::string> connections; ///< ZeroMQ's names; the latest is last
  std::string address;                  ///< name of the connection heard last
  std::string in_words;                 ///< key or address of the peer
  std::uint64_t first = 1;              ///< the first block that the daemon has kept
  std::uint64_t longest = 0;            ///< length of its longest block, in bytes
  std::uint32_t node = 0;               ///< as its hello says
  std::uint32_t run = 0;                ///< likewise
  std::uint16_t process = 0;            ///< likewise, identifies the daemon's process
  time_point known_since;               ///< when this process first said hello
  time_point heard_at;
  int socket = -1;         ///< over which it was heard last; ZeroMQ owns it
  std::uint32_t port = 0;  ///< of the peer there, to recognise another connection's socket
  std::uint64_t bytes = 0; ///< that came over it, when last asked after a silence
  bool is_open = false;    ///< the machine at its other end answered lately
  std::optional<time_point> stored_at;         ///< when its last block was stored
  std::optional<event_key> first_event;        ///< of those stored since known_since
  std::optional<event_key> last_event;         ///< in the store; nothing: none or unknown
  std::optional<std::chrono::nanoseconds> lag; ///< block_lag() of its last block
  bool stored = false;                         ///< a block was stored
  std::vector<std::string> welcomes;           ///< connections to welcome at the end of this step
  bool acknowledge = false;                    ///< at the end of this step
  bool refuse = false;    ///< at the end of this step: the store cannot be written
  bool gone = false;      ///< it said goodbye
  bool inherited = false; ///< another process than the last hello's began it

  /// Whether it said hello, has not said goodbye, and was heard lately.
  [[nodiscard]] bool is_there(time_point now) const {
    return !gone && now < heard_at + silence_limit;
  }
  /// Sets the mark of a hello. A new process sends the blocks that a dead one left in its session.
  void take_process(std::uint16_t mark, time_point now) {
    const bool is_first_hello = known_since == now;
    if (!is_first_hello && process != mark) {
      known_since = now;
      first_event.reset();
      inherited = true;
    }
    process = mark;
  }
};

class link_peers {
public:
  static constexpr std::size_t most_sessions = 1024;
  static constexpr std::size_t most_connections = 8; ///< of a session

  /// Call it for each valid hello.
  link_peer& greet(std::uint64_t session, const std::string& address, time_point now) {
    const bool is_new = !peers_.contains(session);
    if (is_new) find_place(now);
    link_peer& from = peers_[session];
    if (is_new || from.connections.empty()) from.known_since = now;
    std::erase(from.connections, address);
    if (from.connections.size() == most_connections)
      from.connections.erase(from.connections.begin());
    from.connections.push_back(address);
    from.address = address;
    from.heard_at = now;
    from.acknowledge = from.refuse = from.gone = false;
    return from;
  }

  /// Returns null if this session has not said hello over this connection.
  [[nodiscard]] link_peer* speaker(std::uint64_t session, const std::string& over) {
    const auto found = peers_.find(session);
    if (found == peers_.end()) return nullptr;
    const auto& all = found->second.connections;
    return std::ranges::find(all, over) != all.end() ? &found->second : nullptr;
  }
  /// Returns null if the session has not said hello.
  [[nodiscard]] const link_peer* find(std::uint64_t session) const {
    const auto found = peers_.find(session);
    return found == peers_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] link_peer* find(std::uint64_t session) {
    const auto found = peers_.find(session);
    return found == peers_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] auto begin() { return peers_.begin(); }
  [[nodiscard]] auto end() { return peers_.end(); }
  [[nodiscard]] auto begin() const { return peers_.begin(); }
  [[nodiscard]] auto end() const { return peers_.end(); }

private:
  void find_place(time_point now) {
    if (peers_.size() < most_sessions) return;
    peers_.erase(std::ranges::min_element(peers_, {}, [&](const auto& p) {
      return std::tuple(p.second.is_there(now), p.second.stored, p.second.heard_at);
    }));
  }

  std::map<std::uint64_t, link_peer> peers_; ///< by session
};

} // namespace l3
