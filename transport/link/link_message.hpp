// SPDX-License-Identifier: Apache-2.0
// The header of every message on the output link, and the body of an answer (docs/formats.md,
// section 8), written and checked here for both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

/// The body of a welcome or an acknowledgement: which blocks have come early over another
/// connection.
struct link_answer_body {
  std::uint64_t missing = 0;  ///< the block that the receiver waits for
  std::uint64_t early = 0;    ///< bit i: block missing + 1 + i has come and is kept
  std::uint32_t receiver = 0; ///< random number of the receiver
  std::uint32_t body_crc = 0; ///< CRC-32C of the bytes before it
};
static_assert(sizeof(link_answer_body) == 24);

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

/// The header of a hello. `process`: a mark of the daemon's process, the same in all its sessions,
/// in the reserved field of other messages.
[[nodiscard]] inline link_header make_hello_header(std::uint64_t session, std::uint64_t sequence,
                                                   std::uint16_t process) {
  link_header h = make_link_header(link_message::hello, session, sequence);
  h.reserved = process;
  h.header_crc = header_crc(h);
  return h;
}

[[nodiscard]] inline std::uint16_t process_of_hello(const link_header& h) { return h.reserved; }

/// Returns nothing if the frame is no link header.
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

/// Adds the checksum.
[[nodiscard]] inline link_answer_body sealed(link_answer_body body) {
  body.body_crc = header_crc(body);
  return body;
}

/// Returns nothing if the bytes are no answer. Ignores what a later version appends.
[[nodiscard]] inline std::optional<link_answer_body> read_answer(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(link_answer_body)) return std::nullopt;
  const auto body = load<link_answer_body>(bytes.data());
  if (body.body_crc != header_crc(body)) return std::nullopt;
  return body;
}

} // namespace l3
