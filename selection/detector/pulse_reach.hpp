// SPDX-License-Identifier: Apache-2.0
// Between which times pulses are found at all: on boards of 64 samples only those that peak near
// the trigger's time are sought, on boards of 256 samples all of the waveform's. A window that lies
// outside never holds a pulse, so it is refused where it is set.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "config/toml/table.hpp"
#include "selection/algorithms/pulse_window.hpp"
#include "transport/format/readout.hpp"

namespace l3 {

inline constexpr double waveform_length = 512; // ns

/// ns since the trigger's time.
struct pulse_reach {
  double from = 0;
  double to = 0;

  [[nodiscard]] bool meets(double first, double last) const { return first <= to && last >= from; }
  /// The complaint of a window that does not meet it.
  [[nodiscard]] std::string missed() const {
    return fmt::format("holds no pulse: they are sought from {:g} to {:g} ns; choose a window that "
                       "overlaps that",
                       from, to);
  }
};

/// `pulse_time`: of a pulse at the trigger's time, since the first sample.
[[nodiscard]] constexpr pulse_reach reach_of(board_kind kind, double pulse_time) {
  constexpr double slow_sample = 8; // ns
  if (kind == board_kind::sampling_125_mhz)
    return {in_time_first * slow_sample - pulse_time, in_time_end * slow_sample - pulse_time};
  return {-pulse_time, waveform_length - pulse_time};
}

/// A window in ns; complains of an empty one and of one that reaches beyond the waveform.
[[nodiscard]] inline std::array<double, 2> read_window(const toml_table& t, std::string_view key) {
  const auto window = t.range(key, -waveform_length, waveform_length);
  if (window[0] == window[1])
    t.complain(key, "must rise; write [from, to] in ns, such as [-15.0, 15.0]");
  return window;
}

} // namespace l3
