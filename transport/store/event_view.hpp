// SPDX-License-Identifier: Apache-2.0
// Reading packed events (docs/formats.md, section 7). A view is made only of an event that keeps
// every rule of the format, so its holder reads it without checks. Bytes that break a rule give no
// view, never a crash. From a view the original fragments come back, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"

namespace l3 {

class packed_event_view {
public:
  /// The event at the start of `bytes`, which may go on behind it.
  [[nodiscard]] static std::optional<packed_event_view> parse(std::span<const std::byte> bytes);

  [[nodiscard]] const packed_event& header() const { return header_; }
  [[nodiscard]] event_key key() const { return {header_.spill, header_.number}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  [[nodiscard]] std::uint32_t fragments() const { return header_.fragments; }
  [[nodiscard]] packed_fragment fragment(std::uint32_t index) const;
  [[nodiscard]] packed_board board(std::uint32_t index) const; ///< counted over all fragments
  [[nodiscard]] std::span<const std::byte> summary() const;

private:
  friend void rebuild_fragment(const packed_event_view&, std::uint32_t, std::vector<std::byte>&);

  packed_event_view() = default;
  [[nodiscard]] bool well_formed() const;
  [[nodiscard]] bool board_well_formed(packed_board board, std::size_t at) const;
  [[nodiscard]] std::size_t data_offset() const;

  packed_event header_;
  std::span<const std::byte> bytes_;
};

/// Replaces `out` by the original bytes of fragment `index`. Allocates only while `out` has not
/// grown to a fragment's size.
void rebuild_fragment(const packed_event_view& event, std::uint32_t index,
                      std::vector<std::byte>& out);

} // namespace l3
