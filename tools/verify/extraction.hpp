// SPDX-License-Identifier: Apache-2.0
// Writes only the original fragments of all stored events, sorted by spill, event number and crate
// place (docs/formats.md, section 9). Events with missing waveforms are left out and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "tools/verify/payload_tally.hpp"
#include "transport/store/event_index.hpp"

namespace l3 {

struct extraction {
  std::uint64_t events = 0;
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  std::uint64_t repeats = 0; ///< events left out because the run's event was already written
  std::uint64_t damaged = 0; ///< unreadable places in the store
  payload_tally payloads;    ///< events left out because of missing waveforms
};

/// Creates or replaces the file when everything is written. Throws std::runtime_error if it cannot
/// be written (std::system_error if it cannot be opened) or the folder has no store,
/// std::invalid_argument if `out` is a file of the store.
[[nodiscard]] extraction extract(const std::filesystem::path& store_folder,
                                 const event_index& stored, const std::filesystem::path& out,
                                 const std::function<void(std::uint64_t)>& progress);

} // namespace l3
