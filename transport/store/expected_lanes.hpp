// SPDX-License-Identifier: Apache-2.0
// What should be in a spool by what its daemon has noted beside the segments (docs/formats.md,
// section 11): behind the released blocks of a lane, so many were on disk, without a gap. A reader
// notes here what it finds, and is told in sentences which blocks are in no segment. The notes are
// read before the segments, and once more before anything is missed, because a daemon may release
// blocks meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "transport/format/block.hpp"

namespace l3 {

class expected_lanes {
public:
  /// Expects nothing.
  expected_lanes() = default;
  /// Reads the notes. A place that is damaged says nothing, and so does a file that cannot be read.
  explicit expected_lanes(std::filesystem::path spool);

  /// A block has a good header. Memory grows with the blocks that are waited for.
  void note(const block_header& block);
  /// A sentence on each lane that lacks blocks.
  [[nodiscard]] std::vector<std::string> faults() const;

private:
  /// Numbers of blocks that were on disk: behind `released`, up to `last`.
  struct lane {
    std::uint64_t released = 0;
    std::uint64_t last = 0;
  };
  using lanes_by_session = std::map<std::uint64_t, lane>;

  [[nodiscard]] lanes_by_session noted_now() const;

  std::filesystem::path folder_;
  lanes_by_session noted_;
  std::map<std::uint64_t, std::set<std::uint64_t>> found_; ///< numbers by session
};

} // namespace l3
