// SPDX-License-Identifier: Apache-2.0
// How many frames, and how large: chosen for the devices and the memory that are there, where the
// configuration does not say (frames.count, frames.events).
#pragma once

#include <string>

#include "config/settings.hpp"
#include "selection/engine/engine.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

/// More than choose_frames() ever chooses; for what must be asked of a driver before it is known.
inline constexpr std::uint32_t most_frames_chosen = 6;

/// Writes the numbers that are left to the daemon into the settings, and returns a sentence for the
/// operator; empty if both were given.
[[nodiscard]] std::string choose_frames(daemon_settings& s, const found_devices& devices,
                                        const memory_limit& memory);

} // namespace l3
