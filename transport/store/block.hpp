// SPDX-License-Identifier: Apache-2.0
// Checks and reads output blocks (docs/formats.md, section 6) from sockets and files. A fault is a
// value with a name, for counters and messages.
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

/// The common data of a session's blocks. Session and block number identify a block for ever.
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
  version, ///< or an unknown codec
  header_checksum,
  length, ///< above the limit, different from the actual length, or shorter than the settings
  payload_checksum,
  events, ///< its payload has not the header's number of whole events
  count_
};

/// Reads a block's header from the first 64 of `bytes`. Returns its fault, if any; otherwise
/// `header` is valid.
[[nodiscard]] block_fault read_block_header(std::span<const std::byte> bytes, block_header& header);

/// Returns the fault of `bytes` as one whole block, checking all checksums.
[[nodiscard]] block_fault check_block(std::span<const std::byte> bytes, block_header& header);

/// Checks as check_block(), and that the payload has the header's number of whole events. A
/// receiver accepts no other block.
[[nodiscard]] block_fault check_block_and_events(std::span<const std::byte> bytes,
                                                 block_header& header);

/// A receiver disconnects a daemon that sends a longer block.
inline constexpr byte_size largest_sent_payload = mebibytes(64);

/// Whether the header has a valid session and number, and a length that a receiver accepts. Other
/// blocks cannot be sent: they are damaged, even if their checksums are right.
[[nodiscard]] bool can_be_sent(const block_header& header);

/// Writes the header's own checksum.
void seal_header(block_header& header);

/// Marks the last bytes of the payload as settings.
void set_settings(block_header& header, std::size_t bytes);
[[nodiscard]] inline std::uint32_t events_bytes(const block_header& header) {
  return header.payload_bytes - header.settings_bytes;
}
/// A copy of a block without settings, with settings added after its events.
[[nodiscard]] std::vector<std::byte> with_settings(std::span<const std::byte> block,
                                                   block_header header,
                                                   std::span<const std::byte> settings);

/// Iterates over the packed events of a payload by their lengths, without reading them.
class event_walk {
public:
  event_walk(std::span<const std::byte> payload, const block_header& header)
      : rest_(payload), promised_(header.events) {}
  /// The next event; nothing at the end, or for an impossible length.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();
  /// Number of events so far.
  [[nodiscard]] std::uint32_t events() const { return events_; }
  /// Whether bytes are left after the last event.
  [[nodiscard]] bool has_rest() const { return !rest_.empty(); }
  /// Whether, after the last event, there were only whole events, as many as the block's header
  /// says. Otherwise the block is damaged, even if its checksums are right.
  [[nodiscard]] bool complete() const { return !has_rest() && events_ == promised_; }

private:
  std::span<const std::byte> rest_;
  std::uint32_t promised_;
  std::uint32_t events_ = 0;
};

} // namespace l3
