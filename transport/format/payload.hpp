// SPDX-License-Identifier: Apache-2.0
// What is kept of the waveforms of an event, as the event says it (docs/formats.md, section 7): the
// payload table, and the rows of pulses that stand for waveforms. Structs as they lie in the
// stream; usable in device code.
//
// A line names a payload, and every so many of its events, the control sample, keep all. An event
// that several lines keep has the most that one of them asks for. What cannot be
// decoded, and what the selection does not know, is always kept whole and as it came.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/format/block.hpp"
#include "transport/format/function.hpp"
#include "transport/format/prescale.hpp"

namespace l3 {

/// The head of the payload table. A packed_line_payload for each line of the summary follows.
struct packed_payload {
  std::uint32_t levels = 0;  ///< hash of the levels below which waveforms count as quiet
  std::uint32_t asked = 0;   ///< bit n: line n kept the event and asks for the payload that it has
  std::uint32_t control = 0; ///< bit n: line n kept the event and took it for its control sample
  std::uint32_t reserved = 0;
};
static_assert(sizeof(packed_payload) == 16);

struct packed_line_payload {
  event_payload payload = event_payload::all;
  std::uint8_t reserved[3] = {};
  std::uint32_t control = 0; ///< one in so many events of the line keeps all; 0: none
};
static_assert(sizeof(packed_line_payload) == 8);

/// Bytes of the payload table, a multiple of 8.
[[nodiscard]] L3_FN constexpr std::uint32_t packed_payload_bytes(std::uint32_t lines) {
  return static_cast<std::uint32_t>(sizeof(packed_payload) + lines * sizeof(packed_line_payload));
}

/// A pulse as it stands for its waveform: a row of the slot `pulses`
/// (selection/sequence/slots.hpp).
struct packed_pulse {
  std::uint16_t pedestal = 0; ///< 1/4 count
  std::uint16_t peak = 0;     ///< counts
  std::uint16_t time = 0;     ///< 1/256 sample
  std::uint8_t peak_sample = 0;
  std::uint8_t flags = 0; ///< pulse_flag
  std::int32_t sum = 0;   ///< 1/4 count
};
static_assert(sizeof(packed_pulse) == 12);

/// Bytes of a mask of a board's records, or of its rows of pulses.
inline constexpr std::uint32_t board_mask_bytes = 2;
inline constexpr std::uint32_t all_records = 0xffff;

/// Whether the line's control sample takes this event: chosen as a prescale chooses, independently
/// of the prescale.
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
