// SPDX-License-Identifier: Apache-2.0
// The choice of events by a prescale (docs/formats.md, section 7). It is a hash of run, spill,
// event number and line, so every node, device and replay keeps the same events.
#pragma once

#include <cstdint>

#include "transport/format/function.hpp"

namespace l3 {

/// Makes each bit depend on all bits: the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA
/// 2014).
[[nodiscard]] L3_FN constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Whether the line's prescale keeps this event.
[[nodiscard]] L3_FN constexpr bool survives_prescale(std::uint32_t run, std::uint32_t spill,
                                                     std::uint32_t number, std::uint32_t line_id,
                                                     std::uint32_t prescale) {
  const std::uint64_t when = mix_bits(std::uint64_t{run} << 32 | spill);
  return mix_bits(when ^ (std::uint64_t{number} << 32 | line_id)) % prescale == 0;
}

} // namespace l3
