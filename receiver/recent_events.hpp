// SPDX-License-Identifier: Apache-2.0
// The events that a store got lately, so that none is stored twice. If a daemon dies after
// forwarding an event, but before acknowledging it, the sender repeats the event, and the next
// daemon forwards it in another session. Block numbers cannot show that; only the event can. The
// first and last events of each recent session are remembered, because a dead daemon's events in
// flight come at the beginning of the next session, perhaps long before the dead daemon's blocks
// come from its disk. Two events are equal if run, spill, number, length and checksum are equal.
// Events within a session are always different, because spill numbers wrap.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "transport/format/event_key.hpp"
#include "transport/store/held_folder.hpp"

namespace l3 {

class recent_events {
public:
  struct identity {
    std::uint32_t spill = 0;
    std::uint32_t number = 0;
    std::uint32_t bytes = 0;
    std::uint32_t crc = 0;

    friend auto operator<=>(const identity&,
                            const identity&) = default; // NOLINT(modernize-use-nullptr)
  };
  [[nodiscard]] static identity identity_of(std::span<const std::byte> packed_event);

  /// Limits of all events together, about a hundred bytes each, and of sessions. Sessions get equal
  /// shares, half for the first and half for the last events.
  recent_events(std::size_t events, std::size_t sessions)
      : most_events_(events), most_sessions_(sessions) {}

  /// Whether another session of this run has stored the event.
  [[nodiscard]] bool has_from_another(std::uint64_t session, std::uint32_t run,
                                      const identity& event) const;
  /// A new session reduces the shares of the others. If there are too many sessions, the one heard
  /// longest ago is removed.
  void add(std::uint64_t session, std::uint32_t run, const identity& event);
  /// Removes an event that could not be stored. Call it in the reverse order of add().
  void take_back(std::uint64_t session, const identity& event);
  /// The last remembered event of this session, by spill and number; nothing if there is none.
  [[nodiscard]] std::optional<event_key> last_of(std::uint64_t session) const;

private:
  struct key {
    identity event;
    std::uint32_t run = 0;
    std::uint64_t session = 0;

    friend auto operator<=>(const key&, const key&) = default; // NOLINT(modernize-use-nullptr)
  };
  /// How often each remembered event is in the session.
  using memory = std::map<key, std::uint32_t>;
  struct session_memory {
    std::uint32_t run = 0;
    std::uint64_t used_at = 0;
    std::deque<memory::iterator> first;
    std::deque<memory::iterator> last;
  };

  session_memory& new_session(std::uint64_t session, std::uint32_t run);
  void shorten(session_memory& of, std::size_t share);
  void forget(memory::iterator event);

  std::size_t most_events_;
  std::size_t most_sessions_;
  std::size_t share_ = 0;  ///< of a session, each for its first and its last events
  std::uint64_t time_ = 0; ///< counts additions
  std::map<std::uint64_t, session_memory> sessions_;
  memory events_;
};

/// Adds the events of the newest files of a store, as many as can be read quickly. Skips unreadable
/// files and links.
void recall(recent_events& to, const held_folder& store);

} // namespace l3
