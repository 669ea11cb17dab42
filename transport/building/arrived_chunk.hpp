// SPDX-License-Identifier: Apache-2.0
// A datagram as it lands in a strip, and one with a payload as the event builder takes it: what it
// says has been looked at before the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/building/chunk_summary.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

class landing_strip;

/// A datagram that has landed: its header, and which slot of the strip holds its payload.
struct datagram {
  l2::datagram_header header;
  std::uint32_t slot = 0;
  std::uint32_t bytes = 0; ///< of the payload, at most chunk_bytes
};

struct arrived_chunk {
  l2::datagram_header header;
  l2::fragment_place place;
  std::span<const std::byte> bytes; ///< none: it was refused
  chunk_summary summary;
  landing_strip* strip = nullptr; ///< where it landed; nullptr: it waited, and is copied again
  std::uint32_t slot = 0;         ///< of the strip

  /// Looks at its bytes. `chunk_bytes`: of every chunk but the last of a fragment.
  void summarize(std::uint32_t chunk_bytes) {
    const bool is_last = bytes.size() < chunk_bytes;
    l3::summarize(bytes, header.chunk * chunk_bytes, place.event_number, is_last, summary);
  }
};

} // namespace l3
