// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 32 bits (Fowler, Noll, Vo): the short ids of lines and of the active settings in the
// stream.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "selection/detector/detector.hpp"

namespace l3 {

class fnv1a {
public:
  constexpr void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
  }
  /// Adds four bytes, the lowest first.
  template <std::integral T>
  requires(sizeof(T) <= sizeof(std::uint32_t)) constexpr void add(T number) {
    const auto bits = static_cast<std::uint32_t>(number);
    for (unsigned shift = 0; shift < 32; shift += 8)
      add_byte(static_cast<std::uint8_t>(bits >> shift));
  }
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

private:
  constexpr void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x01000193U; }

  std::uint32_t value_ = 0x811c9dc5U;
};

/// The id of a line by its name.
[[nodiscard]] constexpr std::uint32_t line_id(std::string_view name) {
  fnv1a hash;
  hash.add(name);
  return hash.value();
}

/// The names of the bits of the trigger word in settings and tables.
struct trigger_name {
  std::string_view name;
  trigger_bit bit;
};

inline constexpr std::array<trigger_name, 11> trigger_names{{
    {"two_clusters", trigger_two_clusters},
    {"four_clusters", trigger_four_clusters},
    {"five_clusters", trigger_five_clusters},
    {"six_clusters", trigger_six_clusters},
    {"minimum_bias", trigger_minimum_bias},
    {"accidental", trigger_accidental},
    {"led", trigger_led},
    {"laser", trigger_laser},
    {"cosmic", trigger_cosmic},
    {"clock", trigger_clock},
    {"on_spill", trigger_on_spill},
}};

} // namespace l3
