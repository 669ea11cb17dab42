// SPDX-License-Identifier: Apache-2.0
// Traces give the samples of a channel's waveform in a staged packet, for both kinds of boards.
// level_of, edge_of and sum_of measure a pulse in a trace whose peak is known.
#pragma once

#include <cstdint>

#include "gpu/decode/packet.hpp"
#include "selection/algorithms/pulse_window.hpp"

namespace l3 {

/// A waveform of 64 samples: a lane of the packet.
struct slow_trace {
  static constexpr std::uint32_t samples = packet_rows;
  static constexpr std::int32_t limit = l2::payload_mask;
  [[nodiscard]] L3_FN static constexpr level_window level() { return slow_level_window(); }

  const std::uint16_t* words;
  std::uint32_t channel;

  [[nodiscard]] L3_FN std::int32_t operator[](std::uint32_t k) const {
    return words[packet_lanes * k + channel] & l2::payload_mask;
  }
};

/// A waveform of 256 samples: a quarter in each of four lanes.
struct fast_trace {
  static constexpr std::uint32_t channels = 4;
  static constexpr std::uint32_t samples = packet_rows * packet_lanes / channels;
  static constexpr std::int32_t limit = 0x0fff; // these digitizers use 12 bits
  [[nodiscard]] L3_FN static constexpr level_window level() { return fast_level_window(); }

  const std::uint16_t* words;
  std::uint32_t channel;

  [[nodiscard]] L3_FN std::int32_t operator[](std::uint32_t k) const {
    const std::uint32_t lane = channels * (k / packet_rows) + channel;
    return words[packet_lanes * (k % packet_rows) + lane] & l2::payload_mask;
  }
};

/// The findings about the waveforms of a board, by row of the slot `pulses`.
struct found_pulses {
  alignas(64) std::uint16_t peak_sample[packet_lanes];
  alignas(64) std::uint16_t flags[packet_lanes];    // pulse_flag
  alignas(64) std::uint16_t pedestal[packet_lanes]; // 1/4 count
  alignas(64) std::uint16_t peak[packet_lanes];     // at 125 MHz: the highest in-time sample
  alignas(64) std::int32_t foot[packet_lanes];      // at 500 MHz: 1/4 count above the pedestal
  alignas(64) std::uint16_t lit[packet_lanes];      // the row's bit if it is lit
};

/// The lowest sample `least_height` above the pedestal; larger than every sample if there is none.
[[nodiscard]] L3_FN inline std::uint16_t least_sample(std::uint32_t pedestal,
                                                      std::uint32_t least_height) {
  constexpr std::uint32_t most = 0xffff;
  const std::uint32_t sample = (pedestal + 3) / 4 + least_height;
  return static_cast<std::uint16_t>(sample < most ? sample : most);
}

/// Where the rising edge of a pulse crosses half of its height above `from`, which is in 1/4 count;
/// in 1/256 sample. no_edge if that is outside the waveform.
inline constexpr std::uint32_t no_edge = ~0U;
template <class Trace>
[[nodiscard]] L3_FN std::uint32_t edge_of(const Trace& trace, std::uint32_t peak_sample,
                                          std::int32_t from) {
  const std::int32_t half = 4 * trace[peak_sample] + from; // 1/8 count
  std::int32_t after = trace[peak_sample];
  for (std::uint32_t k = peak_sample; k > 0; --k) {
    const std::int32_t before = trace[k - 1];
    if (8 * before < half) {
      const std::int32_t part = 256 / 8 * (half - 8 * before) / (after - before);
      return 256 * (k - 1) + static_cast<std::uint32_t>(part);
    }
    after = before;
  }
  return no_edge;
}

/// The level from which a pulse rises, in 1/4 count: the lower of its two sides that lie within the
/// waveform.
template <class Trace>
[[nodiscard]] L3_FN std::int32_t level_of(const Trace& trace, std::uint32_t peak_sample) {
  constexpr level_window window = Trace::level();
  static_assert(level_window::samples == 4, "a sum of four samples is their mean in 1/4 count");
  static_assert(Trace::samples >= window.before_peak + window.after_peak + level_window::samples);
  const auto mean_from = [&](std::uint32_t first) {
    return trace[first] + trace[first + 1] + trace[first + 2] + trace[first + 3];
  };
  const bool has_before = peak_sample >= window.before_peak;
  const bool has_after = peak_sample + window.after_peak + level_window::samples <= Trace::samples;
  if (!has_after) return mean_from(peak_sample - window.before_peak);
  const std::int32_t after = mean_from(peak_sample + window.after_peak);
  if (!has_before) return after;
  const std::int32_t before = mean_from(peak_sample - window.before_peak);
  return before < after ? before : after;
}

/// The sum that determines the pulse's energy, in 1/4 count. At 125 MHz the window lies within the
/// waveform for each in-time peak.
[[nodiscard]] L3_FN inline std::int32_t sum_of(const slow_trace& trace, std::uint32_t peak_sample,
                                               std::int32_t) {
  const std::uint32_t first = slow_energy_window::first(peak_sample);
  std::int32_t sum = 0;
  for (std::uint32_t k = 0; k < slow_energy_window::all; ++k)
    sum += slow_energy_window::weight(k) * trace[first + k];
  return 4 * sum;
}
static_assert(slow_energy_window::first(in_time_first) < in_time_first &&
              slow_energy_window::first(in_time_end - 1) + slow_energy_window::all <= packet_rows);

/// At 500 MHz: the sum above the level, over the part of the window within the waveform.
[[nodiscard]] L3_FN inline std::int32_t sum_of(const fast_trace& trace, std::uint32_t peak_sample,
                                               std::int32_t level) {
  constexpr std::uint32_t before = fast_energy_window::before_peak;
  const std::uint32_t first = peak_sample > before ? peak_sample - before : 0;
  const std::uint32_t behind = peak_sample - before + fast_energy_window::samples;
  const std::uint32_t end = behind < fast_trace::samples ? behind : fast_trace::samples;
  std::int32_t sum = 0;
  for (std::uint32_t k = first; k < end; ++k) sum += trace[k];
  return 4 * sum - static_cast<std::int32_t>(end - first) * level;
}

} // namespace l3
