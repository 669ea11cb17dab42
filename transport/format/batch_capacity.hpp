// SPDX-License-Identifier: Apache-2.0
// The size of a batch for the configured limits: a frame's input and its tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/format/readout.hpp"

namespace l3 {

struct batch_capacity {
  std::uint32_t events = 0;
  std::uint32_t fragments = 0;
  std::uint32_t pieces = 0;
  std::uint32_t boards = 0;
  std::size_t bytes = 0;
};

/// The capacity that a daemon's limits require of each batch.
[[nodiscard]] inline batch_capacity capacity_of(const readout& crates, std::uint32_t events,
                                                std::uint32_t chunk_bytes) {
  const auto pieces_per_fragment =
      static_cast<std::uint32_t>((l2::max_fragment_bytes + chunk_bytes - 1) / chunk_bytes);
  batch_capacity c;
  c.events = events;
  c.fragments = events * crates.size();
  c.pieces = c.fragments * pieces_per_fragment;
  c.boards = events * crates.boards();
  // Datagrams land in slots of chunk_bytes, rounded up to cache lines; short last chunks share
  // slots.
  c.bytes = round_up(static_cast<std::size_t>(c.fragments) * pieces_per_fragment *
                         round_up(chunk_bytes, 64),
                     4096);
  return c;
}

} // namespace l3
