// SPDX-License-Identifier: Apache-2.0
// Compares a sent .l2raw file with a store, fragment by fragment and byte for byte; where a
// selection ran, also with its decision and summary of each event. Reads events one at a time
// through an index of the store, so that memory does not grow with their size.
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

/// A selection's decision on an event.
struct expected_event {
  bool kept = true;
  std::vector<std::byte> summary; ///< as it is stored with the event
};

struct comparison {
  std::uint64_t sent = 0;
  std::uint64_t stored = 0;
  std::uint64_t equal = 0;
  std::uint64_t rejected = 0;        ///< by the selection, and not stored
  std::uint64_t missing = 0;         ///< sent, not stored
  std::uint64_t extra = 0;           ///< stored, and not sent, or rejected by the selection
  std::uint64_t different = 0;       ///< stored, but not with the bytes that were sent
  std::uint64_t duplicated = 0;      ///< stored once more by the same daemon
  std::uint64_t repeated = 0;        ///< sent again to another start of a daemon, and stored again
  std::uint64_t damaged = 0;         ///< unreadable places in the store
  std::string sent_damage;           ///< damage before the end of the .l2raw file, as fault_of()
  std::vector<std::string> examples; ///< the first few differences

  /// Whether each daemon stored every event that was sent and not rejected once, with its bytes,
  /// and no other.
  [[nodiscard]] bool holds() const {
    return equal + rejected == sent && missing == 0 && extra == 0 && different == 0 &&
           duplicated == 0 && damaged == 0 && sent_damage.empty();
  }
};

/// `loops`: how often the file was sent, with spill numbers that went on. `expected`: the decisions
/// on the events of one loop, in the file's order; empty: all are kept. `progress` gets the number
/// of events compared. Throws std::runtime_error if a file cannot be opened or is not an .l2raw
/// file, or if the spill numbers wrapped, so that two events have one name.
[[nodiscard]] comparison compare(const std::filesystem::path& sent_file,
                                 const std::filesystem::path& store_folder,
                                 const event_index& stored, std::uint32_t loops,
                                 std::span<const expected_event> expected,
                                 const std::function<void(std::uint64_t)>& progress);

} // namespace l3
