// SPDX-License-Identifier: Apache-2.0
// Writes the original fragments of all stored events, and nothing else, in rising (spill, event
// number, crate place) order (docs/formats.md, section 9). Events that did not keep all their
// waveforms as they came are left out, and counted.
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
  std::uint64_t repeats = 0; ///< events left out: the same event of the run was written already
  std::uint64_t damaged = 0; ///< unreadable places in the store
  payload_tally payloads;    ///< events left out: not all their waveforms were kept as they came
};

/// Makes or replaces the file when all is written. Throws std::runtime_error if it cannot be
/// written (std::system_error: not even opened) or the folder holds no store, std::invalid_argument
/// if `out` is a file of the store.
[[nodiscard]] extraction extract(const std::filesystem::path& store_folder,
                                 const event_index& stored, const std::filesystem::path& out,
                                 const std::function<void(std::uint64_t)>& progress);

} // namespace l3
