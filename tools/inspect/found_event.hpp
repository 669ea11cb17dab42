// SPDX-License-Identifier: Apache-2.0
// One event as it was sent or stored: looked for in a level-2 file, a store, a spool, or one of
// their files. The fragments are the original bytes wherever the event was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"
#include "transport/format/payload.hpp"
#include "transport/format/readout.hpp"
#include "transport/store/summary_view.hpp"

namespace l3 {

struct wanted_event {
  event_key key;
  std::optional<std::uint32_t> run{}; ///< nothing: of any run
};

struct found_fragment {
  std::uint8_t place = 0; ///< of its crate in the readout list
  std::vector<std::byte> bytes;
  std::vector<std::uint16_t>
      kept{}; ///< of each board a mask of its records that are there; or empty
};

struct found_event {
  event_key key;
  std::uint32_t run = 0;
  readout crates;
  std::vector<found_fragment> fragments;
  std::optional<block_header> block{};  ///< that stores it
  std::optional<packed_event> packed{}; ///< its head there
  std::optional<summary_view> summary{};
  std::optional<packed_payload> payload{}; ///< if lines limit what is kept
  std::uint64_t more = 0;                  ///< stored events of the same key behind it
  bool more_of_other_runs = false;         ///< one of these at least
  bool all_read = true; ///< false: a part of the store is damaged, or of this file of it
};

/// Reads all of what `path` names. `crates` is the readout of a store; without one it is what the
/// event's session says. Where that says none, it is KOTO's. Throws command_error: 69 for what
/// cannot be read, 1 for another kind of file and if there is no such event.
[[nodiscard]] found_event
find_event(const std::filesystem::path& path, const wanted_event& wanted,
           const std::optional<readout>& crates,
           const std::function<void(std::uint64_t done, std::uint64_t all)>& tell);

} // namespace l3
