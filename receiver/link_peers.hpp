// SPDX-License-Identifier: Apache-2.0
// The sessions that said hello to a receiver, each with the connections over which it did: only
// these may speak for it (docs/protocol.md). Both are bounded. A session or a connection that makes
// way for another loses nothing: its daemon is asked for a hello when it speaks again. Sessions
// that have ended or are silent make way first, then those that have stored nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/format/event_key.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// In the order in which a daemon takes events. Spill numbers begin again at 0: of two spills the
/// one that lies less than half of all numbers behind is the earlier.
[[nodiscard]] constexpr bool is_before(const event_key& one, const event_key& other) {
  const std::uint32_t apart = (other.spill - one.spill) & l2::spill_mask;
  return apart == 0 ? one.number < other.number : apart <= l2::spill_mask / 2;
}

/// From sealing a block to storing it, by the clocks of both machines. `sealed_at`, `now`: ns since
/// 1970-01-01 UTC. Nothing if the block says what cannot be: more than a day ahead of this clock,
/// or more than a year behind it.
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
  /// A daemon sends a heartbeat every second: one that was not heard for so long is not there.
  static constexpr std::chrono::seconds silence_limit{5};

  std::vector<std::string> connections; ///< that said hello, as ZeroMQ names them, the last last
  std::string address;                  ///< the name of the one that was heard last
  std::string in_words;                 ///< key or address of the peer
  std::uint64_t first = 1;              ///< the first block that the daemon still has
  std::uint64_t longest = 0;            ///< of its blocks, in bytes
  std::uint32_t node = 0;               ///< as its hello says
  std::uint32_t run = 0;                ///< likewise
  std::uint16_t process = 0;            ///< likewise, a mark of the daemon's process
  time_point known_since;               ///< the first hello of this process
  time_point heard_at;
  std::optional<time_point> stored_at;         ///< a block of it, the last
  std::optional<event_key> first_event;        ///< of those that were stored since it is known
  std::optional<event_key> last_event;         ///< in the store; nothing: none, or it is not known
  std::optional<std::chrono::nanoseconds> lag; ///< block_lag() of its last block
  bool stored = false;                         ///< a block of it
  std::vector<std::string> welcomes;           ///< at the end of this step, over these connections
  bool acknowledge = false;                    ///< at the end of this step
  bool refuse = false;    ///< at the end of this step: the store cannot be written
  bool gone = false;      ///< it said goodbye
  bool inherited = false; ///< it was begun by another process than that of the last hello

  /// Said hello, not yet goodbye, and was heard lately.
  [[nodiscard]] bool is_there(time_point now) const {
    return !gone && now < heard_at + silence_limit;
  }
  /// A hello says this mark. A new process sends what one that died had on disk in its session.
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

  /// A hello was taken.
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

  /// Null: this session has not said hello over this connection.
  [[nodiscard]] link_peer* speaker(std::uint64_t session, const std::string& over) {
    const auto found = peers_.find(session);
    if (found == peers_.end()) return nullptr;
    const auto& all = found->second.connections;
    return std::ranges::find(all, over) != all.end() ? &found->second : nullptr;
  }
  /// Null: it has not said hello.
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
