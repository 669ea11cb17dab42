// SPDX-License-Identifier: Apache-2.0
// Checks before any memory is touched whether the machine has what a configuration needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "selection/engine/engine.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

/// Returns an empty string if the daemon's memory plan (memory_plan.hpp) fits; else a sentence with
/// the remedy.
[[nodiscard]] std::string wrong_with_memory(const daemon_settings& s, const found_devices& devices,
                                            const memory_limit& limit);

/// Calls wrong_with_memory() with the machine's current limits. Any thread.
using memory_guard = std::function<std::string(const daemon_settings&)>;

/// Reasons why no user can create a node with these settings here: the path of the spool folder is
/// no folder, or the outbox is too small.
[[nodiscard]] std::vector<std::string> wrong_with_node(const daemon_settings& s);

/// The checks of --check-config that go beyond the files of a configuration.
struct start_check {
  std::vector<std::string> wrong; ///< why no daemon with these settings starts here as this user
  std::vector<std::string> notes; ///< what only the service manager creates
};
/// A port that is taken now may be free at the start.
[[nodiscard]] start_check check_start(const daemon_settings& s);

// Chooses the number and size of frames for the devices and the memory of the machine, where the
// configuration leaves them open (frames.count, frames.events).

/// The most frames that choose_frames() chooses. A driver must be asked for them before the number
/// is known.
inline constexpr std::uint32_t most_frames_chosen = 6;

/// Writes the chosen numbers into the settings and returns a sentence for the operator. Returns an
/// empty string if the configuration gave both.
[[nodiscard]] std::string choose_frames(daemon_settings& s, const found_devices& devices,
                                        const memory_limit& memory);

} // namespace l3
