// SPDX-License-Identifier: Apache-2.0
// The baseline under a board's pulses, besides its own noise: noise of the board and of the crate,
// slopes, wander, recovery. The front end adds it to the samples before the pulses.
#pragma once

#include <array>

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

} // namespace l3
