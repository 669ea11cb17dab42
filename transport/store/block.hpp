// SPDX-License-Identifier: Apache-2.0
// Checking and reading output blocks (docs/formats.md, section 6), wherever they come from: a
// socket, a file. A fault is a value with a name, for counters and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/accounting/enumerator_names.hpp"
#include "transport/format/block.hpp"
#include "transport/format/units.hpp"

namespace l3 {

/// What all blocks of one session have in common. They are numbered within it; the two numbers
/// together name a block for ever.
struct block_identity {
  std::uint64_t session = 0; ///< random; 0: no session
  std::uint32_t run = 0;
  std::uint32_t node = 0;

  friend bool operator==(const block_identity&, const block_identity&) = default;
};
enum class block_fault : std::uint8_t {
  none,
  too_short,
  magic,
  version, ///< or a codec that is not known
  header_checksum,
  length, ///< above the limit, or not that of the bytes at hand, or the settings' beyond it
  payload_checksum,
  events, ///< its payload is not so many whole events as its header says
  count_
};

/// What keeps the first 64 of `bytes` from being a block's header; if nothing does, `header` is it.
[[nodiscard]] block_fault read_block_header(std::span<const std::byte> bytes, block_header& header);

/// What keeps `bytes` from being one whole block, checksums included.
[[nodiscard]] block_fault check_block(std::span<const std::byte> bytes, block_header& header);

/// The same, and that its payload is so many whole events as its header says. A receiver takes no
/// other block.
[[nodiscard]] block_fault check_block_and_events(std::span<const std::byte> bytes,
                                                 block_header& header);

/// A receiver cuts off a daemon that sends more in one block.
inline constexpr byte_size largest_sent_payload = mebibytes(64);

/// The header has a session and a number that there may be, and is of a block that is not too long
/// for a receiver. What breaks this cannot be sent: it is damage, whatever its checksums say.
[[nodiscard]] bool can_be_sent(const block_header& header);

/// Writes the CRC of the header's own bytes into it.
void seal_header(block_header& header);

/// The block says that so many bytes at the end of its payload are settings.
void set_settings(block_header& header, std::size_t bytes);
[[nodiscard]] inline std::uint32_t events_bytes(const block_header& header) {
  return header.payload_bytes - header.settings_bytes;
}
/// The block with settings behind its events; it has none.
[[nodiscard]] std::vector<std::byte> with_settings(std::span<const std::byte> block,
                                                   block_header header,
                                                   std::span<const std::byte> settings);

/// Walks the packed events of a block's payload by their length words; it does not look into them.
class event_walk {
public:
  event_walk(std::span<const std::byte> payload, const block_header& header)
      : rest_(payload), promised_(header.events) {}
  /// The next event; nothing at the end, or where a length cannot be right.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();
  /// So many events, up to now.
  [[nodiscard]] std::uint32_t events() const { return events_; }
  /// After the last: bytes are left that are no event.
  [[nodiscard]] bool has_rest() const { return !rest_.empty(); }
  /// After the last: nothing but whole events was there, as many as the block's header says. If
  /// not, the block is damaged, whatever its checksums say.
  [[nodiscard]] bool complete() const { return !has_rest() && events_ == promised_; }

private:
  std::span<const std::byte> rest_;
  std::uint32_t promised_;
  std::uint32_t events_ = 0;
};

} // namespace l3
