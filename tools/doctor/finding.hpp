// SPDX-License-Identifier: Apache-2.0
// What `koto-l3 doctor` found out about one property of the machine, and the command that mends it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace l3 {

enum class health : std::uint8_t {
  ok,
  warning, ///< events may be lost under load, or figures may mislead
  bad,     ///< the daemon does not start, or loses events soon
};
[[nodiscard]] constexpr std::string_view name_of(health h) {
  constexpr std::string_view names[] = {"ok", "warning", "bad"};
  return names[static_cast<std::size_t>(h)];
}

struct finding {
  health how = health::ok;
  std::string what;   ///< for programs: "sockets.receive_buffer"
  std::string text;   ///< a sentence
  std::string remedy; ///< a command, if something is to be mended
};
using findings = std::vector<finding>;

} // namespace l3
