// SPDX-License-Identifier: Apache-2.0
// What a machine must have for a daemon with these settings. Each check adds its findings; one that
// cannot see what it looks for says so, and is no warning.
#pragma once

#include <filesystem>

#include "config/load.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/host.hpp"

namespace l3 {

void check_memory(const host& h, const daemon_settings& s, findings& to);
void check_processors(const host& h, findings& to);
void check_network(const host& h, const daemon_settings& s, findings& to);
void check_clock(const host& h, findings& to);
void check_device(const host& h, const daemon_settings& s, findings& to);

struct disk_use {
  std::string what; ///< "spool.folder"
  std::filesystem::path folder;
  std::uint64_t wanted = 0;    ///< bytes of room; 0: no more than any
  double bytes_per_second = 0; ///< that it must take; 0: not known
};
/// Writes for at most two seconds to a file without a name.
void check_disk(const disk_use& use, findings& to);

} // namespace l3
