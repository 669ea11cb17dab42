// SPDX-License-Identifier: Apache-2.0
// Finds one event, as it was sent or stored, in a level-2 file, a store, a spool, or one of their
// files. The fragments are always the original bytes.
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
#include "transport/store/event_view.hpp"

namespace l3 {

struct wanted_event {
  event_key key;
  std::optional<std::uint32_t> run{}; ///< nothing: any run
};

struct found_fragment {
  std::uint8_t place = 0; ///< of its crate in the readout list
  std::vector<std::byte> bytes;
  std::vector<std::uint16_t> kept{}; ///< mask of each board's kept records; may be empty
};

struct found_event {
  event_key key;
  std::uint32_t run = 0;
  readout crates;
  std::vector<found_fragment> fragments;
  std::optional<block_header> block{};  ///< header of its block
  std::optional<packed_event> packed{}; ///< its header in the block
  std::optional<summary_view> summary{};
  std::optional<packed_payload> payload{}; ///< if lines limit the payload
  std::uint64_t more = 0;                  ///< later stored events with the same key
  bool more_of_other_runs = false;         ///< at least one of these
  bool all_read = true;                    ///< false: a part of the store or file is damaged
};

/// Reads everything that `path` names. `crates`: the readout of a store; by default the readout in
/// the event's session, or else KOTO's. Throws command_error: 69 for unreadable files, 1 for
/// another kind of file or if there is no such event.
[[nodiscard]] found_event
find_event(const std::filesystem::path& path, const wanted_event& wanted,
           const std::optional<readout>& crates,
           const std::function<void(std::uint64_t done, std::uint64_t all)>& tell);

} // namespace l3
