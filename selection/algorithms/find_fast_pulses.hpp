// SPDX-License-Identifier: Apache-2.0
// Finds the pulses of a 500 MHz board: up to four in each waveform, at any time.
//
// The highest sample of each *group* of four shows which groups have a sample that is high enough
// for its input. The search visits only the samples around such groups.
#pragma once

#include <bit>
#include <cstdint>

#include "selection/algorithms/pulse_trace.hpp"
#include "selection/packing/measure.hpp"
#include "selection/sequence/slots.hpp"
#include "selection/sequence/tables.hpp"

namespace l3 {

struct find_fast_pulses {
  static constexpr std::uint32_t group = 4; // samples
  static constexpr std::uint32_t groups = packet_rows / group;
  static constexpr std::uint32_t channels = fast_trace::channels;
  static constexpr std::uint32_t pulses_per_channel = packet_lanes / channels;

  struct shared {
    alignas(64) std::uint16_t highest[groups][packet_lanes]; // the highest sample of a group
    alignas(64) std::uint32_t sums[packet_lanes];            // sum of the pedestal's samples
    alignas(64) std::uint16_t least[packet_lanes]; // the lowest sample that is high enough
    alignas(64) std::uint16_t over[packet_lanes];  // bit g: group g has such a sample
  };

  /// After the next sync() all members of `found` except lit can be read. `measured` are the
  /// findings of measure_boards, `inputs` the 16 inputs of the board, of which only four are used.
  template <block B>
  L3_FN static void find(const B& b, const std::uint16_t* words, const packet_findings& measured,
                         const input_entry* inputs, shared& s, found_pulses& found) {
    for_each(b, groups, packet_lanes, [&](std::uint32_t g, std::uint32_t lane) {
      const std::uint16_t* const column = words + g * group * packet_lanes + lane;
      std::uint16_t high = column[0];
      for (std::uint32_t row = 1; row < group; ++row) {
        const std::uint16_t word = column[row * packet_lanes];
        high = word > high ? word : high;
      }
      s.highest[g][lane] = high & l2::payload_mask;
    });
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      std::uint32_t sum = 0;
      for (std::uint32_t row = 0; row < fast_pedestal_samples; ++row)
        sum += words[row * packet_lanes + lane] & l2::payload_mask;
      s.sums[lane] = sum;
    });
    b.sync();
    compare(b, measured, inputs, s, found);
    b.sync();
    for_each(b, channels, [&](std::uint32_t c) {
      search({words, c}, std::int32_t{4} * inputs[c].least_height, s, found);
    });
  }

private:
  friend class measure_pulses_by_warp; // on CUDA devices

  template <block B>
  L3_FN static void compare(const B& b, const packet_findings& measured, const input_entry* inputs,
                            shared& s, found_pulses& found) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t c = lane % channels;
      s.least[lane] = least_sample(pedestal_of(s, c), inputs[c].least_height);
    });
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      std::uint32_t over = 0;
      for (std::uint32_t g = 0; g < groups; ++g)
        over |= (s.highest[g][lane] >= s.least[lane] ? 1U : 0U) << g;
      s.over[lane] = static_cast<std::uint16_t>(over);
    });
    for_each(b, packet_lanes, [&](std::uint32_t row) {
      const std::uint32_t c = row / pulses_per_channel;
      bool flat = true;
      for (std::uint32_t lane = c; lane < packet_lanes; lane += channels)
        flat = flat && measured.bits[lane] == 0 && measured.minimum[lane] == measured.minimum[c];
      found.pedestal[row] = static_cast<std::uint16_t>(pedestal_of(s, c));
      found.peak[row] = 0;
      found.peak_sample[row] = 0;
      found.flags[row] = flat ? pulse_flat : 0;
    });
  }

  /// The mean of the first samples of a quarter, taken from the quarter where it is lowest, because
  /// other quarters may have a pulse there.
  [[nodiscard]] L3_FN static std::uint32_t pedestal_of(const shared& s, std::uint32_t c) {
    std::uint32_t sum = s.sums[c];
    for (std::uint32_t lane = c + channels; lane < packet_lanes; lane += channels)
      sum = s.sums[lane] < sum ? s.sums[lane] : sum;
    return (sum + 2) / 4;
  }
  static_assert(fast_pedestal_samples == 4 * 4, "a pedestal is 1/4 count");

  /// A pulse begins at a sample that exceeds both the pedestal and the lowest sample since the last
  /// pulse by the least height. It ends where the trace falls below half of its height. If a
  /// channel has more pulses than rows, the rows keep those nearest to the trigger.
  L3_FN static void search(const fast_trace& trace, std::int32_t least, const shared& s,
                           found_pulses& found) {
    const std::uint32_t c = trace.channel;
    const std::int32_t pedestal = found.pedestal[pulses_per_channel * c];
    const std::uint64_t over = groups_over(s, c);
    kept_pulses kept(found, pulses_per_channel * c);
    std::int32_t foot = 0; // lowest height since the last pulse, at least the pedestal
    for (std::uint32_t k = 0; k < fast_trace::samples;) {
      if (foot == 0) { // groups without a high sample neither begin a pulse nor lower the foot
        const std::uint32_t g = k / group;
        if (over >> g == 0) break;
        const std::uint32_t next = group * (g + lowest_bit(over >> g));
        k = next > k ? next : k;
      }
      const std::int32_t height = 4 * trace[k] - pedestal;
      if (height - foot < least) {
        foot = height < foot ? (height > 0 ? height : 0) : foot;
        ++k;
        continue;
      }
      std::uint32_t peak = k;
      std::int32_t top = height;
      std::int32_t now = height;
      while (++k < fast_trace::samples && 2 * (now = 4 * trace[k] - pedestal) >= top) {
        if (now > top) {
          top = now;
          peak = k;
        }
      }
      if (!kept.add(peak, foot)) break;
      foot = now > 0 ? now : 0; // unused at the end of the waveform
    }
  }

  /// The rows of a channel on a board of 256 samples, while the search fills them.
  class kept_pulses {
  public:
    L3_FN kept_pulses(found_pulses& found, std::uint32_t first_row)
        : found_(found), row_(first_row) {}

    /// Adds a pulse. Pulses come in the order of time, so the first or the last of the stored ones
    /// and the new one is farthest from the trigger. Returns false if all later pulses are farther
    /// from the trigger than the stored ones.
    L3_FN bool add(std::uint32_t peak_sample, std::int32_t foot) {
      if (count_ == pulses_per_channel) {
        for (std::uint32_t j = 0; j < pulses_per_channel; ++j)
          found_.flags[row_ + j] |= pulse_second;
        if (distance(peak_sample) >= distance(found_.peak_sample[row_])) return false;
        --count_;
        for (std::uint32_t j = 0; j < count_; ++j) {
          found_.peak_sample[row_ + j] = found_.peak_sample[row_ + j + 1];
          found_.foot[row_ + j] = found_.foot[row_ + j + 1];
        }
      }
      const std::uint32_t row = row_ + count_++;
      found_.peak_sample[row] = static_cast<std::uint16_t>(peak_sample);
      found_.foot[row] = foot;
      found_.flags[row] |= pulse_found;
      return true;
    }

  private:
    [[nodiscard]] L3_FN static std::uint32_t distance(std::uint32_t sample) {
      return sample < fast_trigger_sample ? fast_trigger_sample - sample
                                          : sample - fast_trigger_sample;
    }
    found_pulses& found_;
    std::uint32_t row_;
    std::uint32_t count_ = 0;
  };

  /// The groups with a high sample in a channel of four lanes.
  [[nodiscard]] L3_FN static std::uint64_t groups_over(const shared& s, std::uint32_t c) {
    std::uint64_t all = 0;
    for (std::uint32_t j = 0; j < 4; ++j) all |= std::uint64_t{s.over[4 * j + c]} << groups * j;
    return all;
  }

  /// The index of the lowest set bit; `word` is not 0.
  [[nodiscard]] L3_FN static std::uint32_t lowest_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(word))) - 1;
#else
    return static_cast<std::uint32_t>(std::countr_zero(word));
#endif
  }
};

} // namespace l3
