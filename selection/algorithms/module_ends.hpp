// SPDX-License-Identifier: Apache-2.0
// Combines the pulses at the two ends of a veto module: whether two pulses belong to one hit, where
// along the module the hit is, and its energy. End 0 is the upstream end; z points downstream from
// the middle, so light from a larger z reaches end 0 later and weaker. Formulas are in
// docs/selection.md.
#pragma once

#include <cstdint>

#include "selection/algorithms/end_pulse.hpp"
#include "selection/sequence/slots.hpp"
#include "selection/sequence/tables.hpp"

namespace l3 {

class module_ends {
public:
  static constexpr std::uint8_t both_ends = 3; // in hits::ends

  L3_FN module_ends(const selection_tables& tables, std::uint32_t module)
      : attenuation_(tables.attenuation), module_(module), entry_(tables.modules[module]) {
    if (entry_.ends < 2 || entry_.veto >= tables.vetoes.size()) return;
    const veto_entry& veto = tables.vetoes[entry_.veto];
    tolerance_ = veto.tolerance;
    z_of_time_ = veto.z_of_time;
    half_length_ = veto.half_length < max_half_length ? veto.half_length : max_half_length;
  }

  /// Whether two pulses belong to one hit: `difference`, the time of end 0 minus that of end 1, is
  /// within the tolerance. That is longer than the light's travel time through the module, because
  /// the times of inputs are not exactly known.
  [[nodiscard]] L3_FN bool match(std::int32_t difference) const {
    return difference <= tolerance_ && -difference <= tolerance_;
  }

  /// Whether z lies within the module.
  [[nodiscard]] L3_FN bool holds(std::int64_t z) const {
    return z <= half_length_ && -z <= half_length_;
  }

  [[nodiscard]] L3_FN hits::columns::value pair(const end_pulse& up, const end_pulse& down) const {
    const std::int64_t z = z_of(up.time - down.time);
    attenuation_entry light;
    if (half_length_ != 0 && attenuation_.size() != 0) {
      const auto step = static_cast<std::uint32_t>((z < 0 ? -z : z) / attenuation_step);
      const std::uint32_t last = attenuation_.size() - 1;
      light = attenuation_[step < last ? step : last];
    }
    // Light from z > 0 reaches the upstream end weaker, so its energy is scaled up there.
    const std::uint64_t up_factor = z < 0 ? light.shrunk : light.grown;
    const std::uint64_t down_factor = z < 0 ? light.grown : light.shrunk;
    const std::uint64_t energy = (static_cast<std::uint64_t>(up.energy) * up_factor +
                                  static_cast<std::uint64_t>(down.energy) * down_factor) >>
                                 16;
    constexpr std::uint64_t most = 0x7fffffff;
    return {static_cast<std::int32_t>(energy < most ? energy : most), (up.time + down.time) >> 1,
            static_cast<std::int16_t>(z), static_cast<std::uint16_t>(module_), both_ends};
  }

  /// The hit of one pulse. A live other end adds no energy; a dead one is assumed to have seen the
  /// same energy as this one.
  [[nodiscard]] L3_FN hits::columns::value single(const end_pulse& p) const {
    const bool other_dead = entry_.ends == 2 && (entry_.alive >> (1 - p.end()) & 1) == 0;
    return {other_dead ? 2 * p.energy : p.energy, p.time, 0, static_cast<std::uint16_t>(module_),
            static_cast<std::uint8_t>(1U << p.end())};
  }

private:
  static constexpr std::int32_t max_half_length = 0x7fff; // mm, the range of hits::z

  /// Limited to the module: implausible times put the hit at the module's end.
  [[nodiscard]] L3_FN std::int64_t z_of(std::int32_t difference) const {
    const std::int64_t z = std::int64_t{difference} * z_of_time_ >> 16;
    if (z > half_length_) return half_length_;
    return -z > half_length_ ? -half_length_ : z;
  }

  column<const attenuation_entry> attenuation_;
  std::uint32_t module_;
  module_entry entry_;
  std::int32_t tolerance_ = -1; // with one end no pulses match
  std::int32_t half_length_ = 0;
  std::int32_t z_of_time_ = 0;
};

} // namespace l3
