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

/// What can be known of a start without one, a sentence each. Nothing is made, locked or kept.
struct start_outlook {
  /// Every start ends with it: a file where a folder shall be, a folder that is missing.
  std::vector<std::string> refused;
  /// What may hinder a start from here and now, or what it asks for: a port that is taken, a folder
  /// that cannot be written, a reference that cannot be read, a receiver whose name has no address.
  /// A start as another user, or after another daemon has ended, may find better.
  std::vector<std::string> doubts;
};
/// Waits for the system to look names up, for some seconds at most.
[[nodiscard]] start_outlook outlook_of_start(const daemon_settings& s);

} // namespace l3
