// SPDX-License-Identifier: Apache-2.0
// The small file in which a spool notes how far the blocks of each session are no longer needed, so
// that what the receiver has stored does not come again after a crash (docs/formats.md, section
// 11). Each session has a place of its own, written over and over: the file does not grow, needs no
// room on a disk that is full, and survives the death of this process. It may be late, never early:
// at the worst a block is sent again, which the far end recognises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "transport/format/spool.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class spool_releases {
public:
  /// More sessions than this at a time are not noted: their blocks would come again.
  static constexpr std::size_t most_sessions = 1024;

  /// Reads what an earlier process noted; entries that are damaged are ignored. Without a file that
  /// can be written it notes nothing.
  explicit spool_releases(const std::filesystem::path& folder);

  // Any thread.

  /// For each session of which something is noted, how far it was released.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> all() const;
  void note(std::uint64_t session, std::uint64_t up_to);
  /// Nothing of the session is on the disk any more; unless more was noted since.
  void forget(std::uint64_t session, std::uint64_t up_to);

private:
  /// Of session 0: a vacant one. Null: there is none.
  [[nodiscard]] spool_release* place_of(std::uint64_t session);
  void write(spool_release& place, const spool_release& entry);

  file_descriptor file_;
  mutable std::mutex lock_; ///< guards the places, and the order in which they are written
  std::vector<spool_release> places_; ///< those of the file; vacant ones have session 0
};

} // namespace l3
