// SPDX-License-Identifier: Apache-2.0
// Which events a store got lately, so that none is stored twice. A daemon that dies between
// forwarding an event and telling its sender gets it again in its next life, and forwards it in
// another session: the numbers of blocks cannot tell that, only the event can. Remembered are the
// first and the last events of the last few sessions. Two events are one if run, spill, number,
// length and the checksum of their first kilobyte, which holds the lengths of all boards' data, are
// equal; within a session they are two all the same, because spill numbers wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <unordered_map>
#include <vector>

namespace l3 {

class recent_events {
public:
  struct identity {
    std::uint32_t spill = 0;
    std::uint32_t number = 0;
    std::uint32_t bytes = 0;
    std::uint32_t crc = 0;

    friend bool operator==(const identity&, const identity&) = default;
  };
  /// The part of an event that identity_of() looks at.
  static constexpr std::size_t telling_bytes = 1024;
  /// Of a packed event of `bytes`, of which `head` is the first kilobyte, or all.
  [[nodiscard]] static identity identity_of(std::span<const std::byte> head, std::size_t bytes);

  /// `first` and `last`: how many events of a session are remembered, `sessions`: of how many. An
  /// event takes about a hundred bytes.
  recent_events(std::size_t first, std::size_t last, std::size_t sessions)
      : first_(first), last_(last), most_sessions_(sessions) {}

  /// Another session of this run stored it.
  [[nodiscard]] bool has_from_another(std::uint64_t session, std::uint32_t run,
                                      const identity& event) const;
  /// The session that was heard longest ago makes way for a new one.
  void add(std::uint64_t session, std::uint32_t run, const identity& event);
  /// It could not be stored after all. The last one added of the session first.
  void take_back(std::uint64_t session, const identity& event);

private:
  struct remembered {
    std::uint64_t session = 0;
    identity event;
  };
  struct session_memory {
    std::uint32_t run = 0;
    std::uint64_t used_at = 0;
    std::vector<std::uint64_t> first;
    std::deque<std::uint64_t> last;
  };

  void forget(std::uint64_t session, std::uint64_t key);
  void forget_the_oldest_session();

  std::size_t first_;
  std::size_t last_;
  std::size_t most_sessions_;
  std::uint64_t time_ = 0; ///< counts additions
  std::unordered_map<std::uint64_t, session_memory> sessions_;
  std::unordered_multimap<std::uint64_t, remembered> events_; ///< by spill and number
};

/// Adds what the newest files of a store hold, as much as can be read in a moment. Throws
/// std::runtime_error if the store cannot be read.
void recall(recent_events& to, const std::filesystem::path& store);

} // namespace l3
