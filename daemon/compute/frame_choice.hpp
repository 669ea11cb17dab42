// SPDX-License-Identifier: Apache-2.0
// Chooses the number and size of frames for the devices and the memory of the machine, where the
// configuration leaves them open (frames.count, frames.events).
#pragma once

#include <string>

#include "config/settings.hpp"
#include "selection/engine/engine.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

/// The most frames that choose_frames() chooses. A driver must be asked for them before the number
/// is known.
inline constexpr std::uint32_t most_frames_chosen = 6;

/// Writes the chosen numbers into the settings and returns a sentence for the operator. Returns an
/// empty string if the configuration gave both.
[[nodiscard]] std::string choose_frames(daemon_settings& s, const found_devices& devices,
                                        const memory_limit& memory);

} // namespace l3
