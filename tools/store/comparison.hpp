// SPDX-License-Identifier: Apache-2.0
// Compares what was sent, an .l2raw file, with what was stored, fragment by fragment and byte for
// byte; where a selection ran, also with what it must have kept and must have said of each event.
// Events are looked up in an index of the store and read one at a time, so that memory does not
// grow with their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "transport/store/event_index.hpp"

namespace l3 {

/// What a selection decides on an event.
struct expected_event {
  bool kept = true;
  std::vector<std::byte> summary; ///< as it is stored with the event
};

struct comparison {
  std::uint64_t sent = 0;
  std::uint64_t stored = 0;
  std::uint64_t equal = 0;
  std::uint64_t rejected = 0;   ///< by the selection, and not stored
  std::uint64_t missing = 0;    ///< sent, not stored
  std::uint64_t extra = 0;      ///< stored, and not sent, or rejected by the selection
  std::uint64_t different = 0;  ///< stored, but not with the bytes that were sent
  std::uint64_t duplicated = 0; ///< stored once more by the same daemon
  std::uint64_t repeated =
      0; ///< stored once more by another start of a daemon, to which it was sent again
  std::uint64_t damaged = 0; ///< places in the store that cannot be read
  std::string
      sent_damage; ///< what ended the reading of the .l2raw file before its end, as fault_of()
  std::vector<std::string> examples; ///< the first few differences

  /// Every event that was sent and not rejected is stored, once a daemon, with its bytes, and
  /// nothing else is.
  [[nodiscard]] bool holds() const {
    return equal + rejected == sent && missing == 0 && extra == 0 && different == 0 &&
           duplicated == 0 && damaged == 0 && sent_damage.empty();
  }
};

/// `loops`: how often the file was sent, with spill numbers that went on. `expected`: of each event
/// of the file, in its order, for one loop; none: all are kept. `progress` is told how many events
/// have been compared. Throws std::runtime_error if a file cannot be opened, if what
/// was sent is not an .l2raw file, or if the spill numbers wrapped: two events would have one name.
[[nodiscard]] comparison compare(const std::filesystem::path& sent_file,
                                 const std::filesystem::path& store_folder,
                                 const event_index& stored, std::uint32_t loops,
                                 std::span<const expected_event> expected,
                                 const std::function<void(std::uint64_t)>& progress);

} // namespace l3
