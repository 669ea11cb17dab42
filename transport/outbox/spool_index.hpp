// SPDX-License-Identifier: Apache-2.0
// What a spool knows of its blocks without looking at the disk: where each block lies that is still
// needed, lane by lane (a lane is the blocks of one session, in rising sequence), and which segment
// files hold no needed block any more. It touches no file and locks nothing: the spool guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"

namespace l3 {

/// Where a block lies.
struct spool_place {
  std::uint64_t sequence = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0; ///< header included; 0: it was found damaged
  std::uint32_t events = 0;
};

/// What a spool holds; blocks, events and bytes of blocks are those that are needed.
struct spool_totals {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t disk_bytes = 0; ///< of segment files
  std::uint64_t damaged = 0;    ///< blocks, or stretches without a good block, found so far
  std::uint64_t missing = 0;    ///< numbers read of which no segment has a block, so far
};

/// Memory of a block in the index, with its part of what holds the places.
inline constexpr std::size_t index_bytes_a_block = 40;

class spool_index {
public:
  struct lane {
    std::uint32_t run = 0;
    std::uint32_t node = 0;
    std::uint64_t released = 0;     ///< every block up to this one
    std::uint64_t missing = 0;      ///< the highest number that was found missing
    std::deque<spool_place> blocks; ///< that are needed
    std::uint64_t events = 0;       ///< in those
    std::uint64_t lost = 0;         ///< events of blocks that were found damaged
  };
  struct released {
    std::uint64_t blocks = 0; ///< that were needed
    std::uint64_t events = 0; ///< in those
  };

  /// A new segment is kept for its writer or reader, until that lets it go.
  void add_segment(std::uint64_t number, std::uint64_t bytes);
  void resize_segment(std::uint64_t number, std::uint64_t bytes);
  void let_go(std::uint64_t number);
  /// Length of the segment's file if it is kept for its writer alone; else 0.
  [[nodiscard]] std::uint64_t bytes_without_need(std::uint64_t number) const;

  /// False: it was released before it came, and is not needed. One that is there already lies, from
  /// now on, in the new place.
  bool add_block(const block_header& header, std::uint64_t segment, std::uint64_t offset);
  released release(std::uint64_t session, std::uint64_t up_to);
  /// Null: no segment has such a block, or it is not needed.
  [[nodiscard]] const spool_place* find_block(std::uint64_t session, std::uint64_t sequence) const;
  void mark_damaged(std::uint64_t session, std::uint64_t sequence);
  void mark_missing(std::uint64_t session, std::uint64_t sequence);
  void count_damaged(std::uint64_t stretches) { all_.damaged += stretches; }
  void count_missing(std::uint64_t numbers) { all_.missing += numbers; }

  /// The segments whose files may go; each is told once.
  [[nodiscard]] std::vector<std::uint64_t> take_free() { return std::exchange(free_, {}); }
  void forget_segment(std::uint64_t number); ///< its file is gone
  /// A segment holds a block of the session, needed or not.
  [[nodiscard]] bool on_disk(std::uint64_t session) const;

  /// Null: nothing is known of this session.
  [[nodiscard]] const lane* find(std::uint64_t session) const;
  [[nodiscard]] const std::map<std::uint64_t, lane>& lanes() const { return lanes_; }
  [[nodiscard]] const spool_totals& all() const { return all_; }

private:
  struct segment {
    std::uint64_t bytes = 0;
    std::uint64_t needed = 1;         ///< blocks, and one more for the writer or reader
    std::set<std::uint64_t> sessions; ///< of all blocks, needed or not; few
  };
  void discount(lane& of, const spool_place& place);

  std::map<std::uint64_t, lane> lanes_; ///< one for each session since the start: few
  std::map<std::uint64_t, segment> segments_;
  std::vector<std::uint64_t> free_;
  spool_totals all_;
};

} // namespace l3
