// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block.hpp"

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

namespace {

constexpr std::uint8_t version_with_settings = 2;

bool is_known(codec_id codec) { return codec == codec_id::koto || codec == codec_id::strong; }

} // namespace

block_fault read_block_header(std::span<const std::byte> bytes, block_header& header) {
  if (bytes.size() < sizeof(block_header)) return block_fault::too_short;
  auto h = load<block_header>(bytes.data());
  if (h.magic != block_header{}.magic) return block_fault::magic;
  if (h.header_crc != header_crc(h)) return block_fault::header_checksum;
  if (h.version < 1 || h.version > version_with_settings || !is_known(h.codec))
    return block_fault::version;
  if (h.version == 1) h.settings_bytes = 0; // reserved bytes in version 1
  if (h.payload_bytes > max_block_payload || h.settings_bytes > max_settings_bytes ||
      h.settings_bytes > h.payload_bytes)
    return block_fault::length;
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

block_fault check_block_and_events(std::span<const std::byte> bytes, block_header& header) {
  if (const auto fault = check_block(bytes, header); fault != block_fault::none) return fault;
  event_walk walk(bytes.subspan(sizeof header, events_bytes(header)), header);
  while (walk.next()) {
  }
  return walk.complete() ? block_fault::none : block_fault::events;
}

bool can_be_sent(const block_header& header) {
  return header.session != 0 && header.sequence != 0 && header.sequence <= last_sequence &&
         header.payload_bytes <= largest_sent_payload.bytes;
}

void seal_header(block_header& header) { header.header_crc = header_crc(header); }

void set_settings(block_header& header, std::size_t bytes) {
  header.version = bytes == 0 ? 1 : version_with_settings;
  header.settings_bytes = static_cast<std::uint32_t>(bytes);
}

std::vector<std::byte> with_settings(std::span<const std::byte> block, block_header header,
                                     std::span<const std::byte> settings) {
  std::vector<std::byte> made;
  made.reserve(block.size() + settings.size());
  made.assign(block.begin(), block.end());
  made.insert(made.end(), settings.begin(), settings.end());
  header.payload_bytes += static_cast<std::uint32_t>(settings.size());
  header.payload_crc = crc32c(settings, header.payload_crc);
  set_settings(header, settings.size());
  seal_header(header);
  store(made.data(), header);
  return made;
}

std::optional<std::span<const std::byte>> event_walk::next() {
  if (rest_.size() < sizeof(packed_event)) return std::nullopt;
  const auto length = load<std::uint32_t>(rest_.data());
  if (length < sizeof(packed_event) || length > rest_.size()) return std::nullopt;
  const auto event = rest_.first(length);
  rest_ = rest_.subspan(length);
  ++events_;
  return event;
}

} // namespace l3
