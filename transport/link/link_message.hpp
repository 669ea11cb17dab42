// SPDX-License-Identifier: Apache-2.0
// The head of every message on the output link (docs/formats.md, section 8): made and checked in
// one place for both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/link_body.hpp"

namespace l3 {

[[nodiscard]] inline link_header make_link_header(link_message type, std::uint64_t session,
                                                  std::uint64_t sequence,
                                                  std::uint32_t credit = 0) {
  link_header h;
  h.type = type;
  h.session = session;
  h.sequence = sequence;
  h.credit = credit;
  h.header_crc = header_crc(h);
  return h;
}

/// Of a hello. `process`: a mark of the daemon's process, the same in all its sessions; it stands
/// where other messages have a reserved field, and is 0 where an older daemon says none.
[[nodiscard]] inline link_header make_hello_header(std::uint64_t session, std::uint64_t sequence,
                                                   std::uint16_t process) {
  link_header h = make_link_header(link_message::hello, session, sequence);
  h.reserved = process;
  h.header_crc = header_crc(h);
  return h;
}

[[nodiscard]] inline std::uint16_t process_of_hello(const link_header& h) { return h.reserved; }

/// Nothing if the frame is not a link header.
[[nodiscard]] inline std::optional<link_header> read_link_header(std::span<const std::byte> frame) {
  if (frame.size() != sizeof(link_header)) return std::nullopt;
  const auto h = load<link_header>(frame.data());
  const link_header good;
  if (h.magic != good.magic || h.version != good.version || h.header_crc != header_crc(h)) {
    return std::nullopt;
  }
  if (h.type < link_message::hello || h.type > link_message::goodbye) return std::nullopt;
  return h;
}

/// A demand or a grant with its checksum.
template <class Body>
[[nodiscard]] Body sealed(Body body) {
  body.body_crc = header_crc(body);
  return body;
}

/// Nothing if these bytes are no such body. What a later version appends to it is passed over.
template <class Body>
[[nodiscard]] std::optional<Body> read_sealed(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Body)) return std::nullopt;
  const auto body = load<Body>(bytes.data());
  if (body.body_crc != header_crc(body)) return std::nullopt;
  return body;
}

} // namespace l3
