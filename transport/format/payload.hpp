// SPDX-License-Identifier: Apache-2.0
// The kept part of an event's waveforms, as recorded in the event (docs/formats.md, section 7): the
// payload table, and the pulse rows that replace waveforms. Structs in the layout of the stream;
// usable in device code.
//
// A line has a payload, and keeps everything in one in `control` of its events, the control sample.
// An event kept by several lines gets the largest payload of these lines. Boards that cannot be
// decoded, or are unknown to the selection, are always kept unchanged.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/format/block.hpp"
#include "transport/format/function.hpp"
#include "transport/format/prescale.hpp"

namespace l3 {

/// The head of the payload table, followed by a packed_line_payload for each line of the summary.
struct packed_payload {
  std::uint32_t levels = 0;  ///< hash of the levels below which waveforms are quiet
  std::uint32_t asked = 0;   ///< bit n: line n kept the event and asks for its payload
  std::uint32_t control = 0; ///< bit n: line n kept the event for its control sample
  std::uint32_t reserved = 0;
};
static_assert(sizeof(packed_payload) == 16);

struct packed_line_payload {
  event_payload payload = event_payload::all;
  std::uint8_t reserved[3] = {};
  std::uint32_t control = 0; ///< one in this many events of the line keeps everything; 0: none
};
static_assert(sizeof(packed_line_payload) == 8);

/// Length of the payload table, a multiple of 8.
[[nodiscard]] L3_FN constexpr std::uint32_t packed_payload_bytes(std::uint32_t lines) {
  return static_cast<std::uint32_t>(sizeof(packed_payload) + lines * sizeof(packed_line_payload));
}

/// A pulse that replaces its waveform: a row of the slot `pulses` (selection/sequence/slots.hpp).
struct packed_pulse {
  std::uint16_t pedestal = 0; ///< 1/4 count
  std::uint16_t peak = 0;     ///< counts
  std::uint16_t time = 0;     ///< 1/256 sample
  std::uint8_t peak_sample = 0;
  std::uint8_t flags = 0; ///< pulse_flag
  std::int32_t sum = 0;   ///< 1/4 count
};
static_assert(sizeof(packed_pulse) == 12);

/// Length of the mask of a board's records, or of its pulse rows.
inline constexpr std::uint32_t board_mask_bytes = 2;
inline constexpr std::uint32_t all_records = 0xffff;

/// Whether the line's control sample takes this event. The choice is a hash, like a prescale, and
/// independent of the prescale.
[[nodiscard]] L3_FN constexpr bool is_control(std::uint32_t run, std::uint32_t spill,
                                              std::uint32_t number, std::uint32_t line_id,
                                              std::uint32_t control) {
  constexpr std::uint32_t salt = 0x6374726c;
  return control != 0 && survives_prescale(run, spill, number, line_id ^ salt, control);
}

[[nodiscard]] constexpr std::string_view name_of(event_payload p) {
  constexpr std::string_view names[event_payloads] = {"all", "suppressed", "features", "summary"};
  return names[static_cast<std::uint32_t>(p)];
}

} // namespace l3
