// SPDX-License-Identifier: Apache-2.0
// Decodes the samples of chosen channels of an event into a caller's array: whole boards in place
// where the array has their channels in order, others by way of a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/codec/waveforms.hpp"
#include "reading/include/koto_l3/read.h"
#include "reading/stored_data.hpp"
#include "transport/format/readout.hpp"
#include "transport/store/event_view.hpp"

namespace l3::reading {

/// An input as a caller names it: number of the crate, slot, channel.
struct channel_address {
  std::uint8_t crate = 0;
  std::uint8_t slot = 0;
  std::uint8_t channel = 0;
};

/// The boards that have chosen channels, by place of the crate and slot.
class channel_plan {
public:
  static constexpr std::uint32_t none = 0xffffffff;
  struct chosen {
    std::uint8_t channel = 0;
    std::uint32_t column = 0; ///< in the caller's list
  };
  struct board {
    std::uint32_t column = none; ///< of its first channel, if all are chosen in order
    std::vector<chosen> channels{};
  };

  channel_plan(const readout& crates, std::span<const channel_address> channels,
               std::uint32_t length);

  /// Null for a board without chosen channels.
  [[nodiscard]] const board* of(std::uint32_t place, std::uint32_t slot) const;
  [[nodiscard]] bool wants(std::uint32_t place) const {
    return place < wanted_.size() && wanted_[place] != 0;
  }
  [[nodiscard]] std::uint32_t boards() const { return boards_wanted_; }
  [[nodiscard]] bool is_wide() const { return wide_; }
  [[nodiscard]] std::uint32_t columns() const {
    return static_cast<std::uint32_t>(initial_.size());
  }
  [[nodiscard]] std::uint32_t length() const { return length_; }
  [[nodiscard]] unsigned channels_per_board() const { return wide_ ? 4 : 16; }
  /// The states of an event without boards.
  [[nodiscard]] std::span<const std::uint8_t> initial_states() const { return initial_; }

private:
  std::uint32_t length_;
  bool wide_;
  std::uint32_t boards_wanted_ = 0;
  std::vector<board> boards_;        ///< 16 for each crate
  std::vector<std::uint8_t> wanted_; ///< by crate
  std::vector<std::uint8_t> initial_;
};

/// Where the samples and states of an event go: columns × length, and columns.
struct event_target {
  std::span<std::uint16_t> samples;
  std::span<std::uint8_t> state;
  koto::store_to where = koto::store_to::caches;
};

/// A chosen board of an event; if its slot is 0, a chosen crate that is stored raw.
struct found_board {
  std::uint32_t place; ///< of the crate
  packed_board form;
  std::span<const std::byte> data;
};

/// Replaces `found` by the chosen boards of an event, in its order.
void find_boards(const packed_event_view& event, const channel_plan& plan,
                 std::vector<found_board>& found);

/// `boards`: those that are chosen. Returns false if one is damaged.
bool decode_event(const packed_event_view& event, std::span<const found_board> boards,
                  const channel_plan& plan, const event_target& to);

/// An event of level-2 data: the body of its record. Returns false if it is damaged.
bool decode_record(const unit& u, std::span<const std::byte> body, const readout& crates,
                   const channel_plan& plan, const event_target& to);

} // namespace l3::reading
