// SPDX-License-Identifier: Apache-2.0
// What a spool knows of its blocks without looking at the disk: where each block lies that is still
// needed, lane by lane (a lane is the blocks of one session, in rising sequence), and which segment
// files nobody needs any more. It touches no file and locks nothing: the spool guards it. A block
// takes 32 bytes here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "transport/format/block.hpp"

namespace l3 {

/// Where a block lies.
struct spool_place {
  std::uint64_t sequence = 0;
  std::uint64_t segment = 0; ///< 0: in none
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0; ///< header included; 0: it was found damaged
  std::uint32_t events = 0;
};

class spool_index {
public:
  struct lane {
    std::uint32_t run = 0;
    std::uint32_t node = 0;
    std::uint64_t released = 0;     ///< every block up to this one
    std::uint64_t segments = 0;     ///< in which blocks of it lie, needed or not
    std::deque<spool_place> blocks; ///< that are needed
    std::uint64_t events = 0;       ///< in those
    std::uint64_t bytes = 0;
  };
  struct totals {
    std::uint64_t blocks = 0; ///< that are needed
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::uint64_t disk_bytes = 0; ///< of segment files
  };
  struct finished_lane {
    std::uint64_t session = 0;
    std::uint64_t released = 0;
  };

  /// A pinned segment is not given up, even if no block in it is needed: it is being written.
  void add_segment(std::uint64_t number, std::uint64_t bytes);
  void resize_segment(std::uint64_t number, std::uint64_t bytes);
  void unpin_segment(std::uint64_t number);
  /// Of the segment's file, if no block in it is needed; else 0. There may be no such segment.
  [[nodiscard]] std::uint64_t bytes_if_free(std::uint64_t number) const;

  /// False: it was released before it came, and is not needed. One that is there already lies, from
  /// now on, in the new place.
  bool add_block(const block_header& header, std::uint64_t segment, std::uint64_t offset);
  void mark_damaged(std::uint64_t session, std::uint64_t sequence);
  /// A number between the lane's first and last of which no segment has a block. Until it is
  /// released it has a place, in no segment and with nothing in it.
  void mark_missing(std::uint64_t session, std::uint64_t sequence);
  struct released {
    std::uint64_t blocks = 0; ///< that were needed
    std::uint64_t events = 0; ///< in those
  };
  released release(std::uint64_t session, std::uint64_t up_to);

  /// The segments whose files may go; each is told once.
  [[nodiscard]] std::vector<std::uint64_t> take_free();
  /// The file is gone: the lanes of which nothing is on the disk any more.
  [[nodiscard]] std::vector<finished_lane> forget_segment(std::uint64_t number);

  /// Null: nothing is known of this session.
  [[nodiscard]] const lane* find(std::uint64_t session) const;
  [[nodiscard]] std::optional<spool_place> place_of(std::uint64_t session,
                                                    std::uint64_t sequence) const;
  [[nodiscard]] const std::map<std::uint64_t, lane>& lanes() const { return lanes_; }
  [[nodiscard]] std::size_t segments() const { return segments_.size(); }
  [[nodiscard]] const totals& all() const { return all_; }

private:
  struct segment {
    std::uint64_t needed = 0; ///< blocks
    std::uint64_t bytes = 0;
    bool pinned = true;
    std::vector<std::uint64_t> sessions; ///< of all blocks, needed or not; few
  };
  void count(lane& of, const spool_place& place);
  void discount(lane& of, const spool_place& place);
  void no_longer_in(std::uint64_t segment);

  std::map<std::uint64_t, lane> lanes_; ///< one for each session since the start: few
  std::map<std::uint64_t, segment> segments_;
  std::vector<std::uint64_t> free_;
  totals all_;
};

} // namespace l3
