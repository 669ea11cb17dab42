// SPDX-License-Identifier: Apache-2.0
// The head of every message on the output line (docs/formats.md, section 8): made and checked in
// one place for both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

[[nodiscard]] inline line_header make_line_header(line_message type, std::uint64_t session,
                                                  std::uint64_t sequence,
                                                  std::uint32_t credit = 0) {
  line_header h;
  h.type = type;
  h.session = session;
  h.sequence = sequence;
  h.credit = credit;
  h.header_crc = header_crc(h);
  return h;
}

/// Nothing if the frame is not a line header, for whatever reason.
[[nodiscard]] inline std::optional<line_header> read_line_header(std::span<const std::byte> frame) {
  if (frame.size() != sizeof(line_header)) return std::nullopt;
  const auto h = load<line_header>(frame.data());
  const line_header good;
  if (h.magic != good.magic || h.version != good.version || h.header_crc != header_crc(h)) {
    return std::nullopt;
  }
  if (h.type < line_message::hello || h.type > line_message::goodbye) return std::nullopt;
  return h;
}

} // namespace l3
