// SPDX-License-Identifier: Apache-2.0
// Chunks that do not name their spill: most last chunks hold no board header, and the same event
// number comes again in every spill. The other datagrams of the fragment do name it (its siblings:
// chunks with a board header, the trailer), and they are sent within microseconds of each other.
// So what the latest sibling named is remembered for each fragment, and a chunk that comes before
// its siblings is kept here, copied, until one of them comes or it has waited for long enough. All
// memory is taken once. Guarded by the event builder's lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/format/l2.hpp"
#include "transport/format/time.hpp"

namespace l3 {

class unstated_chunks {
public:
  /// How far apart siblings can arrive: the ports of a receiver are read in turn, and its threads
  /// may be held up, by milliseconds. Far less than a spill lasts, after which the same fragment
  /// id comes again.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);

  explicit unstated_chunks(std::uint32_t chunk_bytes);

  /// A datagram of this fragment has named its spill.
  void note(std::uint32_t fragment_id, std::uint32_t spill, time_point now);
  /// What the latest sibling named, if that was not long before `now`.
  [[nodiscard]] std::optional<std::uint32_t> spill_of(std::uint32_t fragment_id,
                                                      time_point now) const;

  /// Of the chunks that may wait, and of what is remembered of siblings.
  [[nodiscard]] std::size_t bytes() const {
    return memory_.size() + siblings_.size() * (sizeof(sibling) + sizeof(std::uint16_t));
  }

  struct waiting_chunk {
    l2::datagram_header header;
    std::uint32_t bytes = 0;
    std::uint32_t slot = 0;
    time_point since{};
  };
  [[nodiscard]] bool full() const { return free_.empty(); }
  /// Keeps a copy; it must not be full.
  void hold(const l2::datagram_header& header, std::span<const std::byte> bytes, time_point now);
  /// A chunk of this fragment, if one waits, waits no more.
  [[nodiscard]] std::optional<waiting_chunk> take(std::uint32_t fragment_id);
  /// The same for the one that has waited longest, and for that only if it has for too long.
  [[nodiscard]] std::optional<waiting_chunk> take_oldest();
  [[nodiscard]] std::optional<waiting_chunk> take_expired(time_point now);
  /// Of a chunk that waits no more, until the next is held.
  [[nodiscard]] const std::byte* memory_of(const waiting_chunk& c) const {
    return memory_.data() + c.slot * chunk_bytes_;
  }

private:
  struct sibling {
    std::uint32_t fragment_id = 0;
    std::uint32_t spill = 0;
    time_point time{};
  };

  waiting_chunk remove(std::vector<waiting_chunk>::iterator at);

  std::size_t chunk_bytes_;
  std::vector<sibling> siblings_;       // of the latest fragments, by the low bits of their ids
  std::vector<std::uint16_t> expected_; // how many chunks wait for them, by the same bits
  std::vector<waiting_chunk> waiting_;  // the oldest first
  std::vector<std::uint32_t> free_;     // slots of memory_
  std::vector<std::byte> memory_;
};

} // namespace l3
