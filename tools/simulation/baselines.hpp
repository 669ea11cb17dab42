// SPDX-License-Identifier: Apache-2.0
// The baseline under a board's pulses, besides its own noise: noise of the board and of the crate,
// slopes, wander, recovery. The front end adds it to the samples before the pulses.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "tools/simulation/effects.hpp"
#include "tools/simulation/noise.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

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

// Recorded waveforms instead of simulated ones: little-endian u16 without a header, read once, and
// used as a ring of pieces of 64 samples. A 500 MHz input uses four consecutive pieces.

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
