// SPDX-License-Identifier: Apache-2.0
// The times between which pulses are found at all: on boards of 64 samples only those that peak
// near the trigger's time, on boards of 256 samples those in the whole waveform. A window outside
// these times never has a pulse, so it is refused in its configuration.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "config/toml/table.hpp"
#include "selection/algorithms/pulse_window.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

inline constexpr double waveform_length = 512; // ns

/// ns relative to the trigger's time.
struct pulse_reach {
  double from = 0;
  double to = 0;

  [[nodiscard]] bool meets(double first, double last) const { return first <= to && last >= from; }
  /// The complaint about a window outside this reach.
  [[nodiscard]] std::string missed() const {
    return fmt::format("contains no pulse: pulses are searched from {:g} to {:g} ns; choose a "
                       "window that overlaps that",
                       from, to);
  }
};

/// `pulse_time`: time of an in-time pulse in the waveform.
[[nodiscard]] constexpr pulse_reach reach_of(board_kind kind, double pulse_time) {
  constexpr double slow_sample = 8; // ns
  if (kind == board_kind::sampling_125_mhz)
    return {in_time_first * slow_sample - pulse_time, in_time_end * slow_sample - pulse_time};
  return {-pulse_time, waveform_length - pulse_time};
}

/// Reads a window in ns; reports an empty one and one that exceeds the waveform.
[[nodiscard]] inline std::array<double, 2> read_window(const toml_table& t, std::string_view key) {
  const auto window = t.range(key, -waveform_length, waveform_length);
  if (window[0] == window[1])
    t.complain(key, "must rise; write [from, to] in ns, such as [-15.0, 15.0]");
  return window;
}

} // namespace l3
