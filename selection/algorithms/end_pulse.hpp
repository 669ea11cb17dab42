// SPDX-License-Identifier: Apache-2.0
// A pulse at one end of a veto module, packed into a key of 64 bits. The key contains the whole
// pulse, and keys sort by module, end, time and energy, so a kernel can sort pulses as numbers.
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

struct end_pulse {
  static constexpr std::uint32_t energy_bits = 28;
  static constexpr std::uint32_t time_bits = 20;
  /// A key has room for times from −max_time − 1 to max_time, ±4 µs, and energies up to 268 GeV.
  /// Values beyond become the nearest limit, far outside every window or above every threshold.
  static constexpr std::int32_t max_time = (1 << (time_bits - 1)) - 1;
  static constexpr std::int32_t max_energy = (1 << energy_bits) - 1;

  std::int32_t energy = 0; ///< above 0; keV or 1/1000 photoelectron
  std::int32_t time = 0;   ///< 1/128 ns
  std::uint32_t index = 0; ///< 2 × module + end, 16 bits

  [[nodiscard]] L3_FN constexpr std::uint32_t module() const { return index / 2; }
  [[nodiscard]] L3_FN constexpr std::uint32_t end() const { return index % 2; }

  [[nodiscard]] L3_FN constexpr std::uint64_t key() const {
    const std::int32_t t = time > max_time ? max_time : time < -max_time - 1 ? -max_time - 1 : time;
    const std::int32_t e = energy > max_energy ? max_energy : energy;
    return std::uint64_t{index} << (time_bits + energy_bits) |
           static_cast<std::uint64_t>(t + max_time + 1) << energy_bits |
           static_cast<std::uint64_t>(e);
  }
  [[nodiscard]] L3_FN static constexpr end_pulse of(std::uint64_t key) {
    const auto biased = static_cast<std::uint32_t>(key >> energy_bits) & ((1U << time_bits) - 1);
    return {static_cast<std::int32_t>(key & max_energy),
            static_cast<std::int32_t>(biased) - max_time - 1,
            static_cast<std::uint32_t>(key >> (time_bits + energy_bits))};
  }
};

} // namespace l3
