// SPDX-License-Identifier: Apache-2.0
// Finds the pulses of a board packet that stands in shared memory: one per channel, in time with
// the trigger, on boards of 64 samples; up to four per channel, at any time, on boards of 256.
//
// A first pass over the samples, the same for all lanes, leaves the highest of each four samples of
// a lane and the sums that pedestals are made of. It tells which *groups* of four hold a sample
// that is high enough to be looked at; most waveforms have none. Only around such groups is a
// waveform then walked through, sample by sample.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/packet.hpp"
#include "selection/algorithms/pulse_window.hpp"
#include "selection/event_columns.hpp"
#include "selection/measure.hpp"
#include "selection/tables.hpp"

namespace l3 {

/// Sample k of a channel of 64 samples, or of 256, whose quarters are four lanes.
struct slow_trace {
  const std::uint16_t* words;
  std::uint32_t channel;
  static constexpr std::uint32_t samples = packet_rows;
  static constexpr std::uint32_t limit = l2::payload_mask;
  [[nodiscard]] L3_FN std::int32_t operator[](std::uint32_t k) const {
    return words[packet_lanes * k + channel] & l2::payload_mask;
  }
};
struct fast_trace {
  const std::uint16_t* words;
  std::uint32_t channel;
  static constexpr std::uint32_t samples = 4 * packet_rows;
  static constexpr std::uint32_t limit = 0x0fff; // these digitizers use 12 bits
  [[nodiscard]] L3_FN std::int32_t operator[](std::uint32_t k) const {
    const std::uint32_t lane = 4 * (k / packet_rows) + channel;
    return words[packet_lanes * (k % packet_rows) + lane] & l2::payload_mask;
  }
};

/// Bits first … last.
[[nodiscard]] L3_FN constexpr std::uint32_t bits_between(std::uint32_t first, std::uint32_t last) {
  return (2U << last) - (1U << first);
}

class find_pulses {
public:
  static constexpr std::uint32_t group = 4; // samples
  static constexpr std::uint32_t groups = packet_rows / group;
  static constexpr std::uint32_t pulses_per_channel = 4; // on boards of 256 samples

  struct shared {
    // By lane.
    alignas(64) std::uint16_t highest[groups][packet_lanes]; // of a group; with its tag
    alignas(64) std::uint32_t sums[2][packet_lanes];         // of samples 0 … 7 and 8 … 15
    alignas(64) std::uint16_t pedestal[packet_lanes];        // 1/4 count, of the lane's channel
    alignas(64) std::uint16_t least[packet_lanes]; // word from which on a sample is looked at
    alignas(64) std::uint16_t over[packet_lanes];  // bit g: group g holds such a sample
    // By row of the slot `pulses`.
    alignas(64) std::int32_t base[packet_lanes]; // 1/4 count over the pedestal: its foot
    std::uint8_t peak_sample[packet_lanes];
    std::uint8_t flags[packet_lanes];
  };

  /// Leaves base, peak_sample and flags, which can be read after the next sync(). `inputs` are the
  /// 16 of the board; `found` is what measuring found.
  template <block B>
  L3_FN static void find(const B& b, const std::uint16_t* words, board_kind kind,
                         const packet_findings& found, const input_entry* inputs, shared& s) {
    reduce(b, words, s);
    b.sync();
    if (kind == board_kind::sampling_125_mhz) {
      compare_slow(b, found, inputs, s);
      b.sync();
      for_each(b, packet_lanes, [&](std::uint32_t c) {
        if ((s.over[c] & groups_in_time) != 0) search_slow({words, c}, s);
      });
    } else {
      compare_fast(b, found, inputs, s);
      b.sync();
      for_each(b, packet_lanes / pulses_per_channel, [&](std::uint32_t c) {
        search_fast({words, c}, std::int32_t{4} * inputs[c].least_height, s);
      });
    }
  }

  /// The highest sample in time of a channel of 64.
  [[nodiscard]] L3_FN static std::uint16_t highest_in_time(const shared& s, std::uint32_t c) {
    std::uint16_t high = 0;
    for (std::uint32_t g = in_time_first / group; g < in_time_end / group; ++g)
      high = s.highest[g][c] > high ? s.highest[g][c] : high;
    return high & l2::payload_mask;
  }

  /// Where the rising edge of a pulse crosses half the height over its foot, in 1/256 sample;
  /// no_edge if that is not within the waveform.
  static constexpr std::uint32_t no_edge = ~0U;
  template <class Trace>
  [[nodiscard]] L3_FN static std::uint32_t edge_of(const Trace& trace, std::uint32_t peak_sample,
                                                   std::int32_t pedestal, std::int32_t base) {
    const std::int32_t level = 4 * trace[peak_sample] + pedestal + base; // 1/8 count
    std::int32_t after = trace[peak_sample];
    for (std::uint32_t k = peak_sample; k > 0; --k) {
      const std::int32_t before = trace[k - 1];
      if (8 * before < level) {
        const std::int32_t part = 256 / 8 * (level - 8 * before) / (after - before);
        return 256 * (k - 1) + static_cast<std::uint32_t>(part);
      }
      after = before;
    }
    return no_edge;
  }

  /// In 1/4 count over the pedestal, of the part of the window that is within the waveform.
  template <class Trace>
  [[nodiscard]] L3_FN static std::int32_t sum_of(const Trace& trace, std::uint32_t peak_sample,
                                                 std::int32_t pedestal) {
    const pulse_window window = pulse_window::around(peak_sample, Trace::samples);
    std::int32_t sum = 0;
    for (std::uint32_t k = window.first; k < window.end; ++k) sum += 4 * trace[k] - pedestal;
    return sum;
  }

private:
  static constexpr std::uint32_t groups_in_time =
      bits_between(in_time_first / group, (in_time_end - 1) / group);
  static_assert(in_time_first % group == 0 && in_time_end % group == 0);

  template <block B>
  L3_FN static void reduce(const B& b, const std::uint16_t* words, shared& s) {
    for_each(b, groups, packet_lanes, [&](std::uint32_t g, std::uint32_t lane) {
      const std::uint16_t* const column = words + g * group * packet_lanes + lane;
      std::uint16_t high = column[0];
      for (std::uint32_t r = 1; r < group; ++r) {
        const std::uint16_t word = column[r * packet_lanes];
        high = word > high ? word : high;
      }
      s.highest[g][lane] = high;
    });
    constexpr std::uint32_t rows = slow_pedestal_samples;
    static_assert(2 * rows == fast_pedestal_samples);
    for_each(b, 2, packet_lanes, [&](std::uint32_t part, std::uint32_t lane) {
      const std::uint16_t* const column = words + part * rows * packet_lanes + lane;
      std::uint32_t sum = 0;
      for (std::uint32_t r = 0; r < rows; ++r) sum += column[r * packet_lanes] & l2::payload_mask;
      s.sums[part][lane] = sum;
    });
  }

  template <block B>
  L3_FN static void compare_slow(const B& b, const packet_findings& found,
                                 const input_entry* inputs, shared& s) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      s.pedestal[lane] = static_cast<std::uint16_t>((s.sums[0][lane] + 1) / 2);
      s.least[lane] = least_word(s.pedestal[lane], inputs[lane].least_height);
    });
    compare(b, s);
    for_each(b, packet_lanes, [&](std::uint32_t row) {
      s.base[row] = 0;
      s.peak_sample[row] = 0;
      s.flags[row] = found.bits[row] == 0 ? pulse_flat : 0;
    });
  }

  template <block B>
  L3_FN static void compare_fast(const B& b, const packet_findings& found,
                                 const input_entry* inputs, shared& s) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t c = lane % 4;
      std::uint32_t sum = s.sums[0][c] + s.sums[1][c];
      for (std::uint32_t q = c + 4; q < packet_lanes; q += 4) {
        const std::uint32_t other = s.sums[0][q] + s.sums[1][q];
        sum = other < sum ? other : sum;
      }
      s.pedestal[lane] = static_cast<std::uint16_t>((sum + 2) / 4);
      s.least[lane] = least_word(s.pedestal[lane], inputs[c].least_height);
    });
    compare(b, s);
    for_each(b, packet_lanes, [&](std::uint32_t row) {
      const std::uint32_t c = row / pulses_per_channel;
      bool flat = true;
      for (std::uint32_t lane = c; lane < packet_lanes; lane += 4)
        flat = flat && found.bits[lane] == 0 && found.minimum[lane] == found.minimum[c];
      s.base[row] = 0;
      s.peak_sample[row] = 0;
      s.flags[row] = flat ? pulse_flat : 0;
    });
  }

  /// Of the lowest sample that is `least_height` over the pedestal; no sample's if there is none.
  [[nodiscard]] L3_FN static std::uint16_t least_word(std::uint32_t pedestal,
                                                      std::uint32_t least_height) {
    const std::uint32_t word = l2::sample_tag + (pedestal + 3) / 4 + least_height;
    return static_cast<std::uint16_t>(word < 0xffffU ? word : 0xffffU);
  }

  /// The same item again, which is why there is no sync() before.
  template <block B>
  L3_FN static void compare(const B& b, shared& s) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      std::uint32_t over = 0;
      for (std::uint32_t g = 0; g < groups; ++g)
        over |= (s.highest[g][lane] >= s.least[lane] ? 1U : 0U) << g;
      s.over[lane] = static_cast<std::uint16_t>(over);
    });
  }

  /// The highest sample in time, if it is the top of a pulse. Else it is on the flank of one out of
  /// time, which may hide another.
  L3_FN static void search_slow(const slow_trace& trace, shared& s) {
    const std::uint32_t c = trace.channel;
    std::uint32_t g = in_time_first / group;
    for (std::uint32_t other = g + 1; other < in_time_end / group; ++other)
      if (s.highest[other][c] > s.highest[g][c]) g = other;
    const std::int32_t peak = s.highest[g][c] & l2::payload_mask;
    std::uint32_t k = group * g;
    while (trace[k] != peak) ++k;

    if ((k == in_time_first && trace[k - 1] > peak) ||
        (k == in_time_end - 1 && trace[k + 1] > peak)) {
      s.flags[c] = static_cast<std::uint8_t>(s.flags[c] | pulse_second);
      return;
    }
    const std::uint32_t around = bits_between(g - pulse_groups_before, g + pulse_groups_after);
    const std::uint32_t second = (s.over[c] & ~around) != 0 ? pulse_second : 0;
    s.peak_sample[c] = static_cast<std::uint8_t>(k);
    s.flags[c] = static_cast<std::uint8_t>(s.flags[c] | pulse_found | second);
  }
  static_assert(in_time_first / group >= pulse_groups_before);

  /// A pulse begins with a sample that is by its least height above the pedestal, and above the
  /// lowest since the pulse before; it has ended where the trace is below half of its height. Of
  /// more than there are rows for, those nearest to the trigger are kept.
  L3_FN static void search_fast(const fast_trace& trace, std::int32_t least, shared& s) {
    const std::uint32_t c = trace.channel;
    const std::int32_t pedestal = s.pedestal[c];
    const std::uint64_t over = groups_over(s, c);
    found_pulses kept(s, pulses_per_channel * c);
    std::int32_t foot = 0; // the lowest since the last pulse, not below the pedestal
    for (std::uint32_t k = 0; k < fast_trace::samples;) {
      if (foot == 0) { // then groups that are not over are below, and change nothing
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
      foot = now > 0 ? now : 0; // if the waveform has ended, nobody looks at it
    }
  }

  /// The rows of a channel on a board of 256 samples, as they fill.
  class found_pulses {
  public:
    L3_FN found_pulses(shared& s, std::uint32_t first_row) : s_(s), row_(first_row) {}

    /// Pulses come in the order of their time, so the farthest from the trigger is the first or the
    /// last. False: all that may come are farther than those that are there.
    L3_FN bool add(std::uint32_t peak_sample, std::int32_t base) {
      if (count_ == pulses_per_channel) {
        for (std::uint32_t j = 0; j < pulses_per_channel; ++j) s_.flags[row_ + j] |= pulse_second;
        if (distance(peak_sample) >= distance(s_.peak_sample[row_])) return false;
        --count_;
        for (std::uint32_t j = 0; j < count_; ++j) {
          s_.peak_sample[row_ + j] = s_.peak_sample[row_ + j + 1];
          s_.base[row_ + j] = s_.base[row_ + j + 1];
        }
      }
      const std::uint32_t row = row_ + count_++;
      s_.peak_sample[row] = static_cast<std::uint8_t>(peak_sample);
      s_.base[row] = base;
      s_.flags[row] |= pulse_found;
      return true;
    }

  private:
    [[nodiscard]] L3_FN static std::uint32_t distance(std::uint32_t sample) {
      return sample < fast_trigger_sample ? fast_trigger_sample - sample
                                          : sample - fast_trigger_sample;
    }
    shared& s_;
    std::uint32_t row_;
    std::uint32_t count_ = 0;
  };

  /// Of a channel of four lanes.
  [[nodiscard]] L3_FN static std::uint64_t groups_over(const shared& s, std::uint32_t c) {
    std::uint64_t all = 0;
    for (std::uint32_t j = 0; j < 4; ++j) all |= std::uint64_t{s.over[4 * j + c]} << groups * j;
    return all;
  }

  /// Of a word that is not 0.
  [[nodiscard]] L3_FN static std::uint32_t lowest_bit(std::uint64_t word) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(word))) - 1;
#else
    return static_cast<std::uint32_t>(std::countr_zero(word));
#endif
  }
};

} // namespace l3
