// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/pulse_reach.hpp"

#include <fmt/format.h>

namespace l3 {

std::string pulse_reach::missed() const {
  return fmt::format("holds no pulse: they are sought from {:g} to {:g} ns; choose a window that "
                     "overlaps that",
                     from, to);
}

std::array<double, 2> read_window(const toml_table& table, std::string_view key) {
  const auto window = table.range(key, -waveform_length, waveform_length);
  if (window[0] == window[1])
    table.complain(key, "must rise; write [from, to] in ns, such as [-15.0, 15.0]");
  return window;
}

} // namespace l3
