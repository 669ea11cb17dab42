// SPDX-License-Identifier: Apache-2.0
// A long table of Gaussian noise. A board takes its noise from a random place in it, scaled channel
// by channel: drawing hundreds of thousands of normal numbers per event would take most of the
// time.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "selection/detector/pulse_form.hpp"
#include "selection/detector/random.hpp"
#include "tools/simulation/effects.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

class noise_table {
public:
  /// Neighbouring samples are 16 entries apart, as in the packet of a 125 MHz board; the filter
  /// before the digitizer correlates them. Without correlation all entries are independent.
  enum class correlation : std::uint8_t { none, neighbours };

  noise_table(std::uint64_t seed, correlation c);

  /// 1024 numbers with the rms `unit` for one board.
  [[nodiscard]] std::span<const std::int16_t, 1024> at_random(random_source& random) const {
    return std::span<const std::int16_t, 1024>(values_.data() + random.below(starts), 1024);
  }

  /// rms of the numbers; the type has room for eight times as much.
  static constexpr int unit = 4096;

  /// The factor, to be shifted by 16, for noise with this rms in counts.
  [[nodiscard]] static std::int16_t scale_for(double counts) {
    return static_cast<std::int16_t>(std::lround(counts * (65536.0 / unit)));
  }

private:
  static constexpr std::uint32_t starts = 1U << 19;
  std::vector<std::int16_t> values_;
};

// Pulse shapes, tabulated at 64 phases within a sample, and their addition to a waveform.

/// A pulse of height 1 with its peak at time 0.
class pulse_shape {
public:
  pulse_shape(const pulse_form& form, double sample_length);

  /// Adds a pulse to `samples` values with the given stride. `time`: of its peak, relative to the
  /// first sample.
  void add(int* first, int samples, int stride, double height, double time) const;

  /// The sum of a pulse of height 1 over all samples.
  [[nodiscard]] double sum() const;

private:
  static constexpr int phases = 64;
  static constexpr int shift = 14; // fixed-point shift of the table

  double sample_length_;
  int before_; // samples in the table before the peak's
  int length_;
  std::vector<std::int32_t> table_; // [phase][sample]
};

/// The baseline under a board's pulses, besides its own noise: noise of the board and of the crate,
/// slopes, wander, recovery. The front end adds it to the samples before the pulses.
class baselines {
public:
  using board = std::array<int, l2::sample_words>; ///< counts in the packet's order

  baselines(const simulated_effects& effects, const noise_table& slow, const noise_table& fast)
      : effects_(effects), slow_(slow), fast_(fast) {}

  /// Whether any effect is on.
  [[nodiscard]] bool any() const;

  /// Call it once per crate of an event, before its boards.
  void begin_crate(board_kind kind, random_source& random);
  void add(board_kind kind, random_source& random, board& to);

private:
  void add_common(board_kind kind, double counts, std::span<const std::int16_t, 1024> noise,
                  board& to) const;
  void add_noise(const noise_table& table, double counts, random_source& random, board& to) const;
  void add_slow_parts(board_kind kind, random_source& random, board& to) const;

  const simulated_effects& effects_;
  const noise_table& slow_;
  const noise_table& fast_;
  std::array<std::int16_t, 1024> crate_{};
};

/// Recorded waveforms instead of simulated ones: little-endian u16 without a header, read once, and
/// used as a ring of pieces of 64 samples. A 500 MHz input uses four consecutive pieces.
class recordings {
public:
  /// `samples` per waveform: 64 or 256. Throws std::runtime_error if the file cannot be read, does
  /// not hold whole waveforms, or has a value beyond 14 bits; the text gives its place.
  recordings(const std::filesystem::path& file, std::uint32_t samples);

  [[nodiscard]] std::uint64_t pieces() const { return pieces_; }
  /// Piece i modulo the number of pieces: 64 samples.
  [[nodiscard]] std::span<const std::uint16_t, 64> piece(std::uint64_t i) const {
    return std::span<const std::uint16_t, 64>(samples_.data() + i % pieces_ * 64, 64);
  }

private:
  std::vector<std::uint16_t> samples_;
  std::uint64_t pieces_ = 0;
};

} // namespace l3
