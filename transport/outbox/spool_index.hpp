// SPDX-License-Identifier: Apache-2.0
// The index of a spool in memory: the places of all needed blocks, lane by lane (a lane is the
// blocks of one session with increasing numbers), and the segment files without a needed block. It
// touches no file and takes no lock: the spool guards it.
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

/// The place of a block.
struct spool_place {
  std::uint64_t sequence = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0; ///< including header; 0: it was found damaged
  std::uint32_t events = 0;
};

/// The contents of a spool; blocks, events and bytes count needed blocks only.
struct spool_totals {
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t disk_bytes = 0; ///< of segment files
  std::uint64_t damaged = 0;    ///< blocks, or places without a valid block, found so far
  std::uint64_t missing = 0;    ///< numbers read so far without a block in any segment
};

/// Memory of a block in the index, including its share of the container.
inline constexpr std::size_t index_bytes_a_block = 40;

class spool_index {
public:
  struct lane {
    std::uint32_t run = 0;
    std::uint32_t node = 0;
    std::uint64_t released = 0;     ///< all blocks up to this one
    std::uint64_t missing = 0;      ///< the highest number found missing
    std::deque<spool_place> blocks; ///< the needed ones
    std::uint64_t events = 0;       ///< in these
    std::uint64_t lost = 0;         ///< events of blocks found damaged
  };
  struct released {
    std::uint64_t blocks = 0; ///< that were needed
    std::uint64_t events = 0; ///< in these
  };

  /// A new segment is kept until its writer or reader calls let_go().
  void add_segment(std::uint64_t number, std::uint64_t bytes);
  void resize_segment(std::uint64_t number, std::uint64_t bytes);
  void let_go(std::uint64_t number);
  /// Length of the segment's file if only its writer needs it; else 0.
  [[nodiscard]] std::uint64_t bytes_without_need(std::uint64_t number) const;

  /// Returns false if the block was released earlier and is not needed. A known block gets the new
  /// place.
  bool add_block(const block_header& header, std::uint64_t segment, std::uint64_t offset);
  released release(std::uint64_t session, std::uint64_t up_to);
  /// Returns null if no segment has the block, or it is not needed.
  [[nodiscard]] const spool_place* find_block(std::uint64_t session, std::uint64_t sequence) const;
  void mark_damaged(std::uint64_t session, std::uint64_t sequence);
  void mark_missing(std::uint64_t session, std::uint64_t sequence);
  void count_damaged(std::uint64_t stretches) { all_.damaged += stretches; }
  void count_missing(std::uint64_t numbers) { all_.missing += numbers; }

  /// The segments whose files may be removed, each once.
  [[nodiscard]] std::vector<std::uint64_t> take_free() { return std::exchange(free_, {}); }
  void forget_segment(std::uint64_t number); ///< its file is removed
  /// Whether a segment has a block of the session, needed or not.
  [[nodiscard]] bool on_disk(std::uint64_t session) const;

  /// Returns null if the session is unknown.
  [[nodiscard]] const lane* find(std::uint64_t session) const;
  [[nodiscard]] const std::map<std::uint64_t, lane>& lanes() const { return lanes_; }
  [[nodiscard]] const spool_totals& all() const { return all_; }

private:
  struct segment {
    std::uint64_t bytes = 0;
    std::uint64_t needed = 1;         ///< blocks, plus one for the writer or reader
    std::set<std::uint64_t> sessions; ///< of all blocks, needed or not; few
  };
  void discount(lane& of, const spool_place& place);

  std::map<std::uint64_t, lane> lanes_; ///< one per session since the start: few
  std::map<std::uint64_t, segment> segments_;
  std::vector<std::uint64_t> free_;
  spool_totals all_;
};

} // namespace l3
