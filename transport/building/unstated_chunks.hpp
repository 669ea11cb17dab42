// SPDX-License-Identifier: Apache-2.0
// Chunks that do not name their spill: most last chunks hold no board header, and the same event
// number comes again in every spill. Their siblings, the fragment's other chunks and its trailer,
// do name it, and are sent within microseconds of each other. So this class remembers for each
// fragment the spill that the latest sibling named, and keeps a copy of a chunk that comes before
// its siblings until one of them comes or its patience ends. All memory is taken once. Guarded by
// the event builder's lock.
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
  /// How far apart siblings can arrive: a receiver reads its ports in turn, and its threads may be
  /// held up by milliseconds. Far less than a spill, after which the same fragment id comes again.
  static constexpr std::chrono::nanoseconds patience = std::chrono::milliseconds(100);

  explicit unstated_chunks(std::uint32_t chunk_bytes);

  /// Call when a datagram of this fragment has named its spill.
  void note(std::uint32_t fragment_id, std::uint32_t spill, time_point now) {
    siblings_[index_of(fragment_id)] = {fragment_id, spill, now};
  }
  /// The spill that the latest sibling named, if that was not long before `now`.
  [[nodiscard]] std::optional<std::uint32_t> spill_of(std::uint32_t fragment_id,
                                                      time_point now) const;

  /// Memory of the chunks that may wait and of the siblings' spills.
  [[nodiscard]] static std::size_t memory_plan(std::uint32_t chunk_bytes) {
    return std::size_t{chunk_bytes} * places +
           remembered * (sizeof(sibling) + sizeof(std::uint16_t));
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
  /// False if no chunk of this fragment waits, which is the usual case.
  [[nodiscard]] bool may_have(std::uint32_t fragment_id) const {
    return expected_[index_of(fragment_id)] != 0;
  }
  /// Takes out a waiting chunk of this fragment, if there is one.
  [[nodiscard]] std::optional<waiting_chunk> take(std::uint32_t fragment_id);
  /// Takes out the chunk that has waited longest; the second, only if it has waited too long.
  [[nodiscard]] std::optional<waiting_chunk> take_oldest();
  [[nodiscard]] std::optional<waiting_chunk> take_expired(time_point now);
  /// The bytes of a chunk that was taken out, until the next is held.
  [[nodiscard]] const std::byte* memory_of(const waiting_chunk& c) const {
    return memory_.data() + c.slot * chunk_bytes_;
  }

private:
  struct sibling {
    std::uint32_t fragment_id = 0;
    std::uint32_t spill = 0;
    time_point time{};
  };

  /// One thread reads at most 64 datagrams from each of 8 ports in a round, and with chunks of 1400
  /// bytes a third of them are unstated: that needs 170. The rest is for threads that are held up.
  static constexpr std::uint32_t places = 1024;
  /// Fragments whose siblings' spill is remembered: over 200 events of the default readout. A power
  /// of 2.
  static constexpr std::uint32_t remembered = 4096;
  static constexpr std::uint32_t index_of(std::uint32_t fragment_id) {
    return fragment_id & (remembered - 1);
  }

  waiting_chunk remove(std::vector<waiting_chunk>::iterator at);

  std::size_t chunk_bytes_;
  std::vector<sibling> siblings_;       // latest fragments, by the low bits of their ids
  std::vector<std::uint16_t> expected_; // waiting chunks, by the same bits
  std::vector<waiting_chunk> waiting_;  // the oldest first
  std::vector<std::uint32_t> free_;     // slots of memory_
  std::vector<std::byte> memory_;
};

} // namespace l3
