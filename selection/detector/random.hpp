// SPDX-License-Identifier: Apache-2.0
// Random numbers from a seed: xoshiro256** initialised by splitmix64, and the required
// distributions, computed with operations whose rounding is fixed. The same seed gives the same
// numbers on every machine. The simulator uses them, and so do the constants of its inputs
// (selection/detector/calibration.hpp).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "selection/detector/arithmetic.hpp"

namespace l3 {

/// One step of splitmix64, a good hash of its argument.
[[nodiscard]] constexpr std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class random_source {
public:
  explicit random_source(std::uint64_t seed) {
    for (auto& s : state_) s = seed = splitmix(seed);
  }
  /// An independent source for each pair of numbers.
  random_source(std::uint64_t seed, std::uint64_t a, std::uint64_t b)
      : random_source(splitmix(splitmix(splitmix(seed) ^ a) ^ b)) {}

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// 0 … n − 1 for n below 2^32, with a bias below n / 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((bits() >> 32) * n) >> 32);
  }
  /// 0 ≤ u < 1.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double from, double to) { return from + (to - from) * uniform(); }
  bool chance(double p) { return uniform() < p; }

  /// Mean 1.
  double exponential() { return -natural_log(1 - uniform()); }

  /// Mean 0, variance 1 in units of 65536: the sum of twelve uniforms, limited to 6 σ.
  std::int32_t gaussian_16() {
    std::int32_t sum = 0;
    for (int i = 0; i < 3; ++i)
      for (std::uint64_t b = bits(), k = 0; k < 4; ++k, b >>= 16)
        sum += static_cast<std::int32_t>(b & 0xffff);
    return sum - 6 * 65535;
  }
  double gaussian() { return gaussian_16() / 65536.0; }

private:
  std::array<std::uint64_t, 4> state_{};
};

} // namespace l3
