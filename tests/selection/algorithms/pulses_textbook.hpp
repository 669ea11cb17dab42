// SPDX-License-Identifier: Apache-2.0
// Finds the pulses of a board by their definition, in plain loops over all samples, without code of
// the kernel; and makes boards with pulses of the detector's shapes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "selection/sequence/slots.hpp"
#include "selection/sequence/tables.hpp"
#include "tests/gpu/decode/decode_textbook.hpp"

namespace l3::test {

using pulse = pulses::columns::value;

inline bool operator==(const pulse& a, const pulse& b) {
  return a.pedestal == b.pedestal && a.peak == b.peak && a.peak_sample == b.peak_sample &&
         a.flags == b.flags && a.time == b.time && a.sum == b.sum;
}

/// The place of a pulse in a waveform: its peak, and its foot in 1/4 count over the pedestal.
struct textbook_place {
  int peak = 0;
  int foot = 0;
};

/// The level from which a pulse rises, in 1/4 count.
inline int textbook_level(const std::vector<int>& samples, int peak) {
  const bool fast = samples.size() == 256;
  int lowest = INT32_MAX;
  for (const int first : {fast ? peak - 20 : peak - 12, fast ? peak + 17 : peak + 12}) {
    if (first < 0 || first + 4 > static_cast<int>(samples.size())) continue;
    int sum = 0;
    for (int k = first; k < first + 4; ++k) sum += samples[k];
    lowest = std::min(lowest, sum); // a sum of four in counts is their mean in 1/4 count
  }
  return lowest;
}

inline pulse textbook_features(const std::vector<int>& samples, int pedestal, textbook_place at,
                               int least, int limit, unsigned flags) {
  pulse p{};
  const int level = textbook_level(samples, at.peak);
  p.pedestal = static_cast<std::uint16_t>(pedestal);
  p.peak = static_cast<std::uint16_t>(samples[at.peak]);
  p.peak_sample = static_cast<std::uint8_t>(at.peak);
  const bool fast = samples.size() == 256;
  if (4 * samples[at.peak] - level < 4 * least) { // what is over the pedestal is a slow baseline
    p.peak = fast ? 0 : p.peak;
    p.peak_sample = 0;
    p.flags = static_cast<std::uint8_t>(flags);
    return p;
  }
  if (fast) {
    for (int k = at.peak - 2; k < at.peak + 3; ++k)
      if (k >= 0 && k < 256) p.sum += 4 * samples[k] - level;
  } else {
    for (int k = at.peak - 3; k < at.peak + 5; ++k)
      p.sum += 8 * samples[k] - 4 * samples[k - 8] - 4 * samples[k + 8];
  }
  flags |=
      pulse_found | pulse_no_edge | (samples[at.peak] >= limit ? unsigned{pulse_saturated} : 0U);
  // Half way to the peak, from the foot or from the level, in 1/8 count.
  const int half = (2 * (fast ? pedestal + at.foot : level) + 8 * samples[at.peak]) / 2;
  for (int k = 0; k < at.peak; ++k) {
    if (8 * samples[k] < half && 8 * samples[k + 1] >= half) {
      p.time = static_cast<std::uint16_t>(256 * k + 256 * (half - 8 * samples[k]) /
                                                        (8 * (samples[k + 1] - samples[k])));
      flags &= ~unsigned{pulse_no_edge};
    }
  }
  p.flags = static_cast<std::uint8_t>(flags);
  return p;
}

inline unsigned flat_flag(const std::vector<int>& samples) {
  return std::count(samples.begin(), samples.end(), samples[0]) ==
                 static_cast<std::ptrdiff_t>(samples.size())
             ? unsigned{pulse_flat}
             : 0U;
}

/// The pulse of 64 samples at 125 MHz.
inline pulse textbook_slow(const std::vector<int>& samples, int least) {
  double first = 0;
  double last = 0;
  for (int k = 0; k < 8; ++k) first += samples[k] / 8.0;
  for (int k = 56; k < 64; ++k) last += samples[k] / 8.0;
  const int pedestal = static_cast<int>(std::floor(4 * std::min(first, last) + 0.5));
  const auto top = std::max_element(samples.begin() + 12, samples.begin() + 44);
  const int peak = static_cast<int>(top - samples.begin());
  pulse none{};
  none.pedestal = static_cast<std::uint16_t>(pedestal);
  none.peak = static_cast<std::uint16_t>(*top);
  none.flags = static_cast<std::uint8_t>(flat_flag(samples));
  if (4 * *top - pedestal < 4 * least) return none;
  if ((peak == 12 && samples[11] > *top) || (peak == 43 && samples[44] > *top)) {
    none.flags = static_cast<std::uint8_t>(none.flags | pulse_second);
    return none;
  }
  unsigned flags = none.flags;
  for (int k = 0; k < 64; ++k)
    if ((k < peak - 12 || k >= peak + 18) && 4 * samples[k] - pedestal >= 4 * least)
      flags |= pulse_second;
  return textbook_features(samples, pedestal, {peak, 0}, least, 0x3fff, flags);
}

/// The four rows for 256 samples at 500 MHz.
inline std::array<pulse, 4> textbook_fast(const std::vector<int>& samples, int least) {
  double lowest = 1e9;
  for (int q = 0; q < 256; q += 64) {
    double mean = 0;
    for (int k = q; k < q + 16; ++k) mean += samples[k] / 16.0;
    lowest = std::min(lowest, mean);
  }
  const int pedestal = static_cast<int>(std::floor(4 * lowest + 0.5));

  std::vector<textbook_place> all;
  bool in_pulse = false;
  int foot = 0;
  for (int k = 0; k < 256; ++k) {
    const int height = 4 * samples[k] - pedestal;
    if (in_pulse) {
      const int top = 4 * samples[all.back().peak] - pedestal;
      if (height > top) all.back().peak = k;
      if (2 * height < top) {
        in_pulse = false;
        foot = std::max(height, 0);
      }
    }
    if (!in_pulse) {
      if (height - foot >= 4 * least) {
        in_pulse = true;
        all.push_back({k, foot});
      } else {
        foot = std::max(0, std::min(foot, height));
      }
    }
  }
  unsigned flags = flat_flag(samples);
  if (all.size() > 4) {
    flags |= pulse_second;
    std::stable_sort(all.begin(), all.end(), [](textbook_place a, textbook_place b) {
      return std::abs(a.peak - 102) < std::abs(b.peak - 102);
    });
    all.resize(4);
    std::sort(all.begin(), all.end(),
              [](textbook_place a, textbook_place b) { return a.peak < b.peak; });
  }
  std::array<pulse, 4> rows{};
  for (std::size_t j = 0; j < 4; ++j) {
    rows[j].pedestal = static_cast<std::uint16_t>(pedestal);
    rows[j].flags = static_cast<std::uint8_t>(flags);
    if (j < all.size())
      rows[j] = textbook_features(samples, pedestal, all[j], least, 0x0fff, flags);
  }
  return rows;
}

inline std::vector<int> channel_samples(const std::vector<std::uint16_t>& records,
                                        std::size_t channel, std::size_t samples) {
  const auto first = records.begin() + static_cast<std::ptrdiff_t>(channel * samples);
  return {first, first + static_cast<std::ptrdiff_t>(samples)};
}

struct textbook_board_pulses {
  std::array<pulse, 16> rows{};
  std::uint16_t number = board_signals::unread;
  std::uint16_t lit = 0;
  std::uint16_t trigger = 0;
};

/// `number` is the board's number in the readout, or unread; `inputs` are those of the board.
inline textbook_board_pulses textbook_pulses(const made_board& board, std::uint16_t number,
                                             const input_entry* inputs) {
  textbook_board_pulses out;
  const textbook_board read = textbook_decode(board);
  if (!read.sound || number == board_signals::unread) return out;
  out.number = number;
  out.trigger = load_big<std::uint16_t>(board.packet.data()) % 0x4000;
  const bool slow = board.kind == board_kind::sampling_125_mhz;
  for (std::size_t c = 0; c < (slow ? 16U : 4U); ++c) {
    const int least = inputs[c].least_height;
    if (slow) {
      out.rows[c] = textbook_slow(channel_samples(read.samples, c, 64), least);
    } else {
      const auto four = textbook_fast(channel_samples(read.samples, c, 256), least);
      std::copy(four.begin(), four.end(), out.rows.begin() + static_cast<std::ptrdiff_t>(4 * c));
    }
  }
  for (std::size_t r = 0; r < 16; ++r)
    if ((out.rows[r].flags & pulse_found) != 0 && inputs[slow ? r : r / 4].kind != input_kind::none)
      out.lit = static_cast<std::uint16_t>(out.lit | 1U << r);
  return out;
}

/// Height of a pulse of height 1, `since` ns after its peak.
inline double slow_shape(double since) {
  const double width = 27.8 + 0.072 * since;
  return width > 0 ? std::exp(-since * since / (2 * width * width)) : 0;
}
inline double fast_shape(double since, double width) {
  return std::exp(-since * since / (2 * width * width));
}
inline constexpr std::array<double, 3> fast_widths{4.2, 8.5, 12.7};

/// The records of a board with up to `most` pulses in each channel, also slightly outside of it,
/// on baselines of which some are slow.
inline std::vector<std::uint16_t> make_pulses(board_kind kind, std::uint32_t most, randomness& r) {
  const bool slow = kind == board_kind::sampling_125_mhz;
  const int samples = slow ? 64 : 256;
  const int limit = slow ? 0x3fff : 0x0fff;
  std::vector<std::uint16_t> all;
  for (int c = 0; c < 1024 / samples; ++c) {
    std::vector<double> trace(static_cast<std::size_t>(samples), 300.0 + below(r, 600));
    std::normal_distribution<double> noise(0, 1 + below(r, 4));
    for (double& s : trace) s += noise(r);
    const double slope = below(r, 3) == 0 ? (static_cast<double>(below(r, 401)) - 200) / 63 : 0;
    const double dip = below(r, 4) == 0 ? below(r, 300) : 0;
    for (int k = 0; k < samples; ++k)
      trace[static_cast<std::size_t>(k)] +=
          slope * 64 * k / samples - dip * std::exp(-k * (slow ? 8 : 2) / 1000.0);
    for (std::uint32_t n = below(r, most + 1); n > 0; --n) {
      const double at = below(r, 5) == 0 ? 204.0 : static_cast<double>(below(r, 560)) - 20;
      const double height = std::pow(2.0, 2 + below(r, 1400) / 100.0);
      const double width = fast_widths[below(r, 3)];
      for (int k = 0; k < samples; ++k) {
        const double since = k * (slow ? 8 : 2) - at;
        trace[static_cast<std::size_t>(k)] +=
            height * (slow ? slow_shape(since) : fast_shape(since, width));
      }
    }
    for (const double s : trace)
      all.push_back(static_cast<std::uint16_t>(std::clamp(static_cast<int>(s), 0, limit)));
  }
  return all;
}

} // namespace l3::test
