// SPDX-License-Identifier: Apache-2.0
// Whether the machine has what a configuration asks for: memory, before any is touched; and, for
// those who only check a file, folders, names and ports.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/settings.hpp"
#include "selection/engine/engine.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

/// Empty if there is room for the memory plan of the daemon (memory_plan.hpp); else a sentence with
/// the remedy.
[[nodiscard]] std::string wrong_with_memory(const daemon_settings& s, const found_devices& devices,
                                            const memory_limit& limit);

/// Asks wrong_with_memory() of this machine and its limits as they are then. Any thread.
using memory_guard = std::function<std::string(const daemon_settings&)>;

/// Why no node with these settings can be made here, whichever user makes it: something else has
/// the name of the spool's folder, the outbox is too small.
[[nodiscard]] std::vector<std::string> wrong_with_node(const daemon_settings& s);

/// What can be known of a start without one, a sentence each. Nothing is made, locked or kept.
struct start_outlook {
  /// Every start ends with it, or with run control every run: a file where a folder shall be, a
  /// folder that is missing, a device that was asked for and does not answer. Of relative names
  /// only a start in this folder is known, so what is wrong with them is a doubt.
  std::vector<std::string> refused;
  /// What may hinder a start from here and now, or what it asks for: a port that is taken, a folder
  /// that cannot be written, a reference that cannot be read, a receiver whose name has no address.
  /// A start as another user, or after another daemon has ended, may find better.
  std::vector<std::string> doubts;
};
/// Waits while the system looks names up, for those of receivers three seconds in all.
[[nodiscard]] start_outlook outlook_of_start(const daemon_settings& s);

} // namespace l3
