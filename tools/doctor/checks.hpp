// SPDX-License-Identifier: Apache-2.0
// The checks of a machine for a daemon with these settings. Each check adds its findings; one that
// cannot find its information says so without a warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.hpp"
#include "tools/doctor/host.hpp"

namespace l3 {

enum class health : std::uint8_t {
  ok,
  warning, ///< events may be lost under load, or measurements may mislead
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
  std::string remedy; ///< a command, if something must be fixed
};
using findings = std::vector<finding>;

void check_memory(const host& h, const daemon_settings& s, findings& to);
void check_processors(const host& h, findings& to);
void check_network(const host& h, const daemon_settings& s, findings& to);
void check_clock(const host& h, findings& to);
void check_device(const host& h, const daemon_settings& s, findings& to);

struct disk_use {
  std::string what; ///< "spool.folder"
  std::filesystem::path folder;
  std::uint64_t wanted = 0;    ///< free bytes needed; 0: not checked
  double bytes_per_second = 0; ///< write rate needed; 0: unknown
};
/// Writes to an unnamed file for at most two seconds.
void check_disk(const disk_use& use, findings& to);

} // namespace l3
