// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block.hpp"

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

namespace {

bool is_known(codec_id codec) { return codec == codec_id::koto || codec == codec_id::strong; }

} // namespace

block_fault read_block_header(std::span<const std::byte> bytes, block_header& header) {
  if (bytes.size() < sizeof(block_header)) return block_fault::too_short;
  const auto h = load<block_header>(bytes.data());
  if (h.magic != block_header{}.magic) return block_fault::magic;
  if (h.header_crc != header_crc(h)) return block_fault::header_checksum;
  if (h.version != block_header{}.version || !is_known(h.codec)) return block_fault::version;
  if (h.payload_bytes > max_block_payload) return block_fault::length;
  header = h;
  return block_fault::none;
}

block_fault check_block(std::span<const std::byte> bytes, block_header& header) {
  if (const auto fault = read_block_header(bytes, header); fault != block_fault::none) return fault;
  const auto payload = bytes.subspan(sizeof(block_header));
  if (payload.size() != header.payload_bytes) return block_fault::length;
  if (crc32c(payload) != header.payload_crc) return block_fault::payload_checksum;
  return block_fault::none;
}

void seal_header(block_header& header) { header.header_crc = header_crc(header); }

std::optional<std::span<const std::byte>> event_walk::next() {
  if (rest_.size() < sizeof(packed_event)) return std::nullopt;
  const auto length = load<std::uint32_t>(rest_.data());
  if (length < sizeof(packed_event) || length > rest_.size()) return std::nullopt;
  const auto event = rest_.first(length);
  rest_ = rest_.subspan(length);
  return event;
}

} // namespace l3
