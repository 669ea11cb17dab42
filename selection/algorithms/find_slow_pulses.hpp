// SPDX-License-Identifier: Apache-2.0
// Finds the pulses of a 125 MHz board: in each waveform the highest in-time sample, if it is high
// enough for its input and the top of a pulse.
//
// Pedestals and highest samples of all lanes are found alike, in loops over adjacent words. Then
// only the few waveforms with a high enough sample are searched.
#pragma once

#include <cstdint>

#include "selection/algorithms/pulse_trace.hpp"
#include "selection/packing/measure.hpp"
#include "selection/sequence/slots.hpp"
#include "selection/sequence/tables.hpp"

namespace l3 {

struct find_slow_pulses {
  static constexpr std::uint32_t half = (in_time_end - in_time_first) / 2; // rows
  static constexpr std::uint32_t part = slow_pedestal_samples / 2;

  struct shared {
    alignas(64) std::uint16_t highest[half * packet_lanes];   // the higher of rows k and k + half
    alignas(64) std::uint16_t sums[part * packet_lanes];      // sum of rows k and k + part
    alignas(64) std::uint16_t late_sums[part * packet_lanes]; // likewise for the last rows
    alignas(64) std::uint16_t least[packet_lanes]; // the lowest sample that is high enough
  };

  /// After the next sync() all members of `found` except foot and lit can be read. `measured` are
  /// the findings of measure_boards, `inputs` the 16 inputs of the board.
  template <block B>
  L3_FN static void find(const B& b, const std::uint16_t* words, const packet_findings& measured,
                         const input_entry* inputs, shared& s, found_pulses& found) {
    for_each(b, half * packet_lanes, [&](std::uint32_t k) {
      const std::uint16_t one = words[in_time_first * packet_lanes + k];
      const std::uint16_t other = words[(in_time_first + half) * packet_lanes + k];
      s.highest[k] = one > other ? one : other;
    });
    for_each(b, part * packet_lanes, [&](std::uint32_t k) {
      const std::uint16_t one = words[k];
      const std::uint16_t other = words[part * packet_lanes + k];
      s.sums[k] = static_cast<std::uint16_t>((one & l2::payload_mask) + (other & l2::payload_mask));
    });
    for_each(b, part * packet_lanes, [&](std::uint32_t k) {
      constexpr std::uint32_t first = packet_rows - slow_pedestal_samples;
      const std::uint16_t one = words[first * packet_lanes + k];
      const std::uint16_t other = words[(first + part) * packet_lanes + k];
      s.late_sums[k] =
          static_cast<std::uint16_t>((one & l2::payload_mask) + (other & l2::payload_mask));
    });
    b.sync();
    compare(b, measured, inputs, s, found);
    b.sync();
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      if (found.peak[c] >= s.least[c]) search({words, c}, s.least[c], found);
    });
  }

private:
  /// Several loops over the same items without a sync() in between, because compilers do not
  /// vectorise one combined loop.
  template <block B>
  L3_FN static void compare(const B& b, const packet_findings& measured, const input_entry* inputs,
                            shared& s, found_pulses& found) {
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      std::uint16_t high = s.highest[c];
      for (std::uint32_t row = 1; row < half; ++row) {
        const std::uint16_t word = s.highest[packet_lanes * row + c];
        high = word > high ? word : high;
      }
      found.peak[c] = high & l2::payload_mask;
    });
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      std::uint32_t early = 1; // for rounding
      std::uint32_t late = 1;
      for (std::uint32_t row = 0; row < part; ++row) {
        early += s.sums[packet_lanes * row + c];
        late += s.late_sums[packet_lanes * row + c];
      }
      found.pedestal[c] = static_cast<std::uint16_t>((early < late ? early : late) / 2);
    });
    static_assert(slow_pedestal_samples == 2 * 4, "a pedestal is 1/4 count");
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      s.least[c] = least_sample(found.pedestal[c], inputs[c].least_height);
    });
    for_each(b, packet_lanes, [&](std::uint32_t c) {
      found.peak_sample[c] = 0;
      found.flags[c] = measured.bits[c] == 0 ? pulse_flat : 0;
    });
  }

  /// Takes the highest in-time sample as a pulse, unless it lies on the flank of a pulse out of
  /// time. Such a waveform has no in-time pulse, or hides it.
  L3_FN static void search(const slow_trace& trace, std::int32_t least, found_pulses& found) {
    const std::uint32_t c = trace.channel;
    const std::int32_t peak = found.peak[c];
    std::uint32_t k = in_time_first;
    while (trace[k] != peak) ++k;
    const bool flank = (k == in_time_first && trace[k - 1] > peak) ||
                       (k == in_time_end - 1 && trace[k + 1] > peak);
    std::uint32_t flags = found.flags[c];
    if (flank) {
      flags |= pulse_second;
    } else {
      flags |= pulse_found;
      if (reaches(trace, 0, k - reach_before, least) ||
          reaches(trace, k + reach_after, slow_trace::samples, least))
        flags |= pulse_second;
      found.peak_sample[c] = static_cast<std::uint16_t>(k);
    }
    found.flags[c] = static_cast<std::uint16_t>(flags);
  }
  static_assert(reach_before <= in_time_first && in_time_end - 1 + reach_after <= packet_rows);

  /// Whether one of the samples first … end − 1 is at least `least`.
  L3_FN static bool reaches(const slow_trace& trace, std::uint32_t first, std::uint32_t end,
                            std::int32_t least) {
    std::int32_t high = 0;
    for (std::uint32_t k = first; k < end; ++k) high = trace[k] > high ? trace[k] : high;
    return high >= least;
  }
};

} // namespace l3
