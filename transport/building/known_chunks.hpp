// SPDX-License-Identifier: Apache-2.0
// The chunks of the whole events that ended last: a chunk that comes after the end of its event is
// a duplicate, or it is of another event under the same numbers. Of each chunk two bytes are
// remembered, made of its length and its first and last 16 bytes. They are the same whether the
// event came in chunks or as a record. Guarded by the event builder's lock, except the making of
// the marks.
//
// Each event has a place by its number, and the two latest spills begin half of all places apart,
// whatever their numbers: two spills of half as many events are remembered whole, of a longer one
// the latest events. A spill that has no table, of which only records come, is none of the two. All
// memory is taken at the start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/building/chunk_summary.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

/// The chunks of a fragment whose pieces are its chunks, or which lies in one piece.
class fragment_chunks {
public:
  fragment_chunks(const fragment_pieces& fragment, std::uint32_t chunk_bytes);

  /// Prefetches the bytes that mark() reads.
  void prefetch() const;
  /// The marks of as many chunks as `out` has room for; no_mark beyond the last one.
  void mark(std::span<chunk_mark> out) const;

private:
  [[nodiscard]] std::span<const std::byte> operator[](std::uint32_t chunk) const;

  const fragment_pieces& fragment_;
  std::uint32_t chunk_bytes_;
  std::uint32_t chunks_;
};

class known_chunks {
public:
  /// Remembers at most `events` events of `crates` fragments, each of `max_chunks` chunks at most.
  known_chunks(std::uint32_t events, std::uint32_t crates, std::uint32_t max_chunks);

  /// The event has ended whole. `marks`: by crate, then chunk.
  void remember(event_key key, std::span<const chunk_mark> marks);
  /// Whether the event had another chunk in this place. False if its mark is not known.
  [[nodiscard]] bool has_another(event_key key, std::uint32_t crate, std::uint32_t chunk,
                                 chunk_mark mark) const;
  /// The event, which is remembered, has another chunk in this crate's fragment: true once for each
  /// crate.
  bool set_conflicting(event_key key, std::uint32_t crate);

  [[nodiscard]] static std::size_t memory_plan(std::uint32_t events, std::uint32_t crates,
                                               std::uint32_t max_chunks) {
    return std::size_t{events} *
           (std::size_t{crates} * max_chunks * sizeof(chunk_mark) + sizeof(known_event));
  }

private:
  struct known_event {
    event_key key{};               // number 0: none
    std::uint64_t conflicting = 0; // a bit for each crate
  };

  /// One of the two latest spills; 2: it is neither.
  [[nodiscard]] std::size_t half_of(std::uint32_t spill) const;
  [[nodiscard]] std::size_t place_of(event_key key, std::size_t half) const;

  std::uint32_t max_chunks_;
  std::size_t event_marks_;
  std::array<std::optional<std::uint32_t>, 2> spills_; // the two latest, by half
  std::size_t latest_ = 0;                             // the half of the spill of the latest event
  std::vector<known_event> events_;
  std::vector<chunk_mark> marks_; // by place, crate, chunk
};

} // namespace l3
