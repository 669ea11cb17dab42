// SPDX-License-Identifier: Apache-2.0
// A datagram, and a chunk together with what it reveals about its fragment's boards. A receive
// thread summarizes a chunk when it has landed, while its bytes are in the cache. If all chunks of
// a fragment are plain, its boards follow from the summaries and its bytes are not read again. Any
// other fragment is walked (fragment_index.hpp), with the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/building/fragment_index.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

struct chunk_summary {
  std::uint64_t digest = 0;           ///< the digest's summand for the borders in it
  std::uint32_t time = 0;             ///< of the fragment's first board, if the chunk contains it
  std::optional<std::uint16_t> spill; ///< in the first whole board header
  std::uint16_t slots = 0;            ///< one bit for each board that begins in it, by slot
  /// Its part of the fragment consists of full boards without a fault, in rising slots, and no
  /// border crosses its ends.
  bool plain = false;
};

/// `is_last`: the chunk is shorter than others, so it is the last of its fragment. Written in
/// place, because copying newly written data waits for the stores.
void summarize(std::span<const std::byte> chunk, std::uint32_t offset_in_fragment,
               std::uint32_t event_number, bool is_last, chunk_summary& out);

/// The sums of a fragment's chunk summaries, in any order.
struct fragment_sums {
  std::uint64_t digest = 0;
  std::uint32_t time = 0;
  bool plain = true; ///< all chunks are plain and name no other spill

  void add(const chunk_summary& c, std::uint32_t spill) {
    digest += c.digest;
    time |= c.time; // 0 except in the first chunk
    plain = plain && c.plain && (c.slots == 0 || c.spill == spill);
  }
};

/// Indexes a fragment of full boards without a fault from the summaries of its chunks. The result
/// is that of index_fragment(), but has no list of boards, which follows from their slots. `slots`:
/// of the chunks, in their order. Returns nothing if the fragment must be walked.
[[nodiscard]] std::optional<fragment_index> join(std::span<const std::uint16_t> slots,
                                                 const fragment_sums& sums, std::uint32_t bytes,
                                                 const crate_readout& crate);

/// Writes one entry per slot.
void write_boards(std::uint16_t slots, board_kind kind, std::span<board_entry> out);

/// A datagram that was received into the next free entry of a ring.
struct datagram {
  l2::datagram_header header;
  std::uint32_t bytes = 0; ///< of the payload, at most chunk_bytes
};

struct batch_in_use;

/// Memory into which one datagram may land.
struct landing_slot {
  std::byte* memory = nullptr;
  batch_in_use* batch = nullptr; ///< nullptr: it is the ring's own memory
  piece_offset offset = 0;       ///< in the batch
  bool kept = false;             ///< it has become a piece of the batch
};

struct arrived_chunk {
  l2::datagram_header header;
  l2::fragment_place place;
  std::span<const std::byte> bytes;
  chunk_summary summary;
  landing_slot* slot = nullptr; ///< where it landed; nullptr: it waited, and is copied again
};

} // namespace l3
