// SPDX-License-Identifier: Apache-2.0
// Which events a store got lately, so that none is stored twice. A daemon that dies between
// forwarding an event and telling its sender gets it again in its next life, and forwards it in
// another session: the numbers of blocks cannot tell that, only the event can. Remembered are the
// first and the last events of each session that was heard lately: what a dead daemon had under way
// comes at the beginning of the next one's session, perhaps long before the dead one's own blocks
// come from its disk. Two events are one if run, spill, number, length and checksum are equal.
// Within a session they are two all the same, because spill numbers wrap.
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

  /// So many events altogether, about a hundred bytes each, and sessions. The sessions have equal
  /// shares, half of each for the first and half for the last events.
  recent_events(std::size_t events, std::size_t sessions)
      : most_events_(events), most_sessions_(sessions) {}

  /// Another session of this run has stored the event.
  [[nodiscard]] bool has_from_another(std::uint64_t session, std::uint32_t run,
                                      const identity& event) const;
  /// A new session makes the shares of the others smaller; if there are too many, the one that was
  /// heard longest ago makes way.
  void add(std::uint64_t session, std::uint32_t run, const identity& event);
  /// It could not be stored after all. The last one added of the session first.
  void take_back(std::uint64_t session, const identity& event);
  /// The last event that is remembered of this session, by spill and number; nothing: there is
  /// none.
  [[nodiscard]] std::optional<event_key> last_of(std::uint64_t session) const;

private:
  struct key {
    identity event;
    std::uint32_t run = 0;
    std::uint64_t session = 0;

    friend auto operator<=>(const key&, const key&) = default; // NOLINT(modernize-use-nullptr)
  };
  /// How many times the session has it among those that are remembered.
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
  std::size_t share_ = 0;  ///< of a session, of its first events and of its last
  std::uint64_t time_ = 0; ///< counts additions
  std::map<std::uint64_t, session_memory> sessions_;
  memory events_;
};

/// Adds what the newest files of a store hold, as much as can be read in a moment. Files that
/// cannot be read, and links, are left out.
void recall(recent_events& to, const held_folder& store);

} // namespace l3
