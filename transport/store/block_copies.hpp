// SPDX-License-Identifier: Apache-2.0
// Which blocks stand more than once in a store or a spool. Session, flag bit 0 and number name a
// block, and two of one name are the same block, in a file that was copied; or one of them is the
// empty block that a daemon sent in the place of a damaged one, and the other has the events; or
// they are two blocks, and one of them is wrong. It takes the room of a stretch of numbers for
// blocks that follow each other, and a name for each that stands twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/block_name.hpp"
#include "transport/store/number_set.hpp"

namespace l3 {

/// It has no events, and none was left out of it.
[[nodiscard]] bool is_empty_block(const block_header& block);

class block_copies {
public:
  enum class kind : std::uint8_t {
    first,
    behind_empty_ones, ///< all of its name before it were empty, and it is not
    once_more,
  };
  /// The next block that was found.
  kind note(const block_header& block);

  /// Once all are noted: a sentence on each file with blocks that have other contents than the
  /// first of their name, which is the one that counts. If no block stands twice it costs nothing,
  /// else it reads the headers of all blocks in the folder. Throws scan_stopped.
  [[nodiscard]] std::vector<std::string> others_in(const std::filesystem::path& folder,
                                                   store_kind of,
                                                   const std::function<bool()>& stop) const;

private:
  std::map<std::pair<std::uint64_t, bool>, number_set> found_;
  std::set<block_name> empty_; ///< of which no other one was found
  std::set<block_name> twice_;
};

} // namespace l3
