// SPDX-License-Identifier: Apache-2.0
// What should be in the files of a store that are not written any more: for each file, which blocks
// of which sessions. A look at the folder compares it with what is there, and says by number which
// blocks are not there any more. It reads a file only if its identity, its length or the time at
// which it was written is another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// Blocks of one session.
struct block_tally {
  std::uint64_t first = 0; ///< the lowest number; 0: there is none
  std::uint64_t last = 0;  ///< the highest
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;    ///< of payload
  std::uint64_t repeated = 0; ///< events left out, because another session has stored them

  void add(const block_header& block) {
    add({block.sequence, block.sequence, 1, block.events, block.payload_bytes, block.repeated});
  }
  void add(const block_tally& other) {
    if (other.blocks == 0) return;
    first = blocks == 0 ? other.first : std::min(first, other.first);
    last = std::max(last, other.last);
    blocks += other.blocks;
    events += other.events;
    bytes += other.bytes;
    repeated += other.repeated;
  }
};

/// Of each session.
using session_tallies = std::map<std::uint64_t, block_tally>;
void add(session_tallies& to, const session_tallies& more);

class stored_files {
public:
  void expect(std::uint64_t number, const file_look& now, const session_tallies& blocks) {
    files_[number] = {now, blocks};
  }

  struct loss {
    std::vector<std::string> files; ///< names of those that lack blocks, and what became of them
    session_tallies blocks;         ///< told once
  };
  [[nodiscard]] loss look(const held_folder& folder);

private:
  struct expected {
    file_look as;
    session_tallies blocks;
  };
  std::map<std::uint64_t, expected> files_;
};

} // namespace l3
