// SPDX-License-Identifier: Apache-2.0
// A block being built where it is sent from: events are copied behind the room for its header, one
// after the other, and the header is written when the block is sealed. The checksum is taken while
// the copy is still in the cache: a second walk at sending would cost a read from memory, and bytes
// that wait for long would wait unguarded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/time.hpp"
#include "transport/store/block.hpp"

namespace l3 {

class block_builder {
public:
  [[nodiscard]] bool empty() const { return events_ == 0; }
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] std::uint32_t payload_bytes() const { return payload_; }
  /// Header included.
  [[nodiscard]] std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(sizeof(block_header)) + payload_;
  }
  /// When the event in it that has waited longest was complete.
  [[nodiscard]] time_point oldest() const { return oldest_; }

  /// Copies an event behind the others; `at` is where the block begins, and has room for it.
  void add(std::byte* at, std::span<const std::byte> event, time_point completed_at) {
    std::byte* const to = at + bytes();
    std::memcpy(to, event.data(), event.size());
    crc_ = crc32c({to, event.size()}, crc_);
    payload_ += static_cast<std::uint32_t>(event.size());
    oldest_ = empty() ? completed_at : std::min(oldest_, completed_at);
    ++events_;
  }

  /// Writes the header; the next event begins another block.
  void seal(std::byte* at, const block_identity& identity, std::uint64_t sequence,
            std::uint64_t sealed_at) {
    block_header header;
    header.payload_bytes = payload_;
    header.events = events_;
    header.session = identity.session;
    header.sequence = sequence;
    header.run = identity.run;
    header.node = identity.node;
    header.sealed_at = sealed_at;
    header.payload_crc = crc_;
    seal_header(header);
    store(at, header);
    *this = {};
  }

private:
  std::uint32_t payload_ = 0;
  std::uint32_t events_ = 0;
  std::uint32_t crc_ = 0;
  time_point oldest_;
};

/// For block_header::sealed_at: ns since 1970-01-01 UTC.
[[nodiscard]] std::uint64_t wall_clock_now();
/// For block_identity::session: never 0, and never the same twice as far as chance goes.
[[nodiscard]] std::uint64_t random_session();

} // namespace l3
