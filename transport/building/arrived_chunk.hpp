// SPDX-License-Identifier: Apache-2.0
// A datagram as it lands in a strip, and one with a payload as the event builder takes it: with
// what the chunk says by itself of the boards of its fragment. A receive thread looks when the
// chunk has landed, while its bytes are in the cache and without the lock of the event builder. The
// boards of a fragment whose chunks are all plain follow from these summaries; its bytes are not
// looked at again. Any other fragment is walked (fragment_index.hpp), with the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/building/fragment_index.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

struct chunk_summary {
  std::uint64_t digest = 0;           ///< what the borders in it add to that of its fragment
  std::uint32_t time = 0;             ///< of the fragment's first board, if the chunk has it
  std::optional<std::uint16_t> spill; ///< that the first whole board header in it names
  std::uint16_t slots = 0;            ///< a bit for each board that begins in it, by slot
  /// Its part of the fragment is one of full boards without a fault, in slots of rising order, and
  /// no border lies across its ends.
  bool plain = false;
};

/// `is_last`: the chunk is shorter than others, and so the last of its fragment. Written in place:
/// a copy of what has just been written waits for the stores.
void summarize(std::span<const std::byte> chunk, std::uint32_t offset_in_fragment,
               std::uint32_t event_number, bool is_last, chunk_summary& out);

/// What the summaries of a fragment's chunks say together, in whatever order they come.
struct fragment_sums {
  std::uint64_t digest = 0;
  std::uint32_t time = 0;
  bool plain = true; ///< each chunk is, and names no other spill

  void add(const chunk_summary& c, std::uint32_t spill) {
    digest += c.digest;
    time |= c.time; // 0 but in the first chunk
    plain = plain && c.plain && (c.slots == 0 || c.spill == spill);
  }
};

/// What index_fragment() finds in a fragment of full boards without a fault, but for its boards,
/// which follow from their slots.
struct plain_fragment {
  std::uint64_t digest = 0;
  std::uint32_t time = 0;
  std::uint16_t slots = 0; ///< a bit for each board
  std::uint16_t boards = 0;
};
/// `slots`: of the summaries, in the order of the chunks. Nothing if their fragment must be walked.
[[nodiscard]] std::optional<plain_fragment> join(std::span<const std::uint16_t> slots,
                                                 const fragment_sums& sums, std::uint32_t bytes,
                                                 const crate_readout& crate);

/// Writes an entry for each board, as many as there are slots: of the event, fragment and kind of
/// `like`.
void write_boards(std::uint16_t slots, const board_entry& like, std::span<board_entry> out);

class landing_strip;

/// A datagram that has landed: its header, and which slot of the strip holds its payload.
struct datagram {
  l2::datagram_header header;
  std::uint32_t slot = 0;
  std::uint32_t bytes = 0; ///< of the payload, at most chunk_bytes
};

struct arrived_chunk {
  l2::datagram_header header;
  l2::fragment_place place;
  std::span<const std::byte> bytes; ///< none: it was refused
  chunk_summary summary;
  landing_strip* strip = nullptr; ///< where it landed; nullptr: it waited, and is copied again
  std::uint32_t slot = 0;         ///< of the strip

  /// Looks at its bytes. `chunk_bytes`: of every chunk but the last of a fragment.
  void summarize(std::uint32_t chunk_bytes) {
    const bool is_last = bytes.size() < chunk_bytes;
    l3::summarize(bytes, header.chunk * chunk_bytes, place.event_number, is_last, summary);
  }
};

} // namespace l3
