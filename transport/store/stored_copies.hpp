// SPDX-License-Identifier: Apache-2.0
// Whether an event that came is one that the store has already. Key, length and CRC-32C are equal
// then, but a peer can make another event of which they are equal, too: only the bytes in the store
// tell. They are read from the file that has its name now, so that nothing is found in a file that
// a person has removed. A comparison is made for a block, and reads no more than some times its
// length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/store/block_file.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/recent_events.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class stored_copies {
public:
  /// The store must outlive it. False is the answer once so many bytes were read.
  stored_copies(const held_folder& store, const store_names& names, std::uint64_t most_bytes)
      : store_(store), names_(names), left_(most_bytes) {}

  /// The store has these bytes there, and they can be read.
  [[nodiscard]] bool has(const event_place& at, std::span<const std::byte> event);

private:
  const held_folder& store_;
  const store_names& names_;
  std::uint64_t left_;
  std::uint64_t number_ = 0; ///< of the file
  file_descriptor file_;
  std::vector<std::byte> part_;
};

} // namespace l3
