// SPDX-License-Identifier: Apache-2.0
// The memory that a daemon will allocate, from its settings alone. A node prints this plan, and
// machine_check compares it with the machine before memory is touched. Both add up the same
// functions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/system/memory_limit.hpp"

namespace l3 {

class spool;

/// The largest packed event: every board raw, all tables full.
[[nodiscard]] std::size_t largest_packed_event(const readout& crates);
/// Returns an empty string if outbox.memory holds two events of the readout; else a sentence.
[[nodiscard]] std::string wrong_with_outbox(const daemon_settings& s);

/// The description of the selection that goes into the stream. Throws std::runtime_error if it is
/// too large for a store.
[[nodiscard]] std::vector<std::byte> decided_by(const daemon_settings& s,
                                                const std::optional<loaded_selection>& selection);

/// Number of inputs with histograms; 0 if no histograms are made.
[[nodiscard]] std::size_t histogram_inputs(const daemon_settings& s,
                                           const std::optional<loaded_selection>& selection);

/// Everything but the engines. `shadow_bytes`: those of the shadow menu, if there is one. `disk`:
/// files on disk may need more memory than the settings say; null if they are not known yet.
[[nodiscard]] std::vector<memory_use>
memory_beside_engines(const daemon_settings& s, const std::optional<loaded_selection>& selection,
                      std::optional<std::size_t> shadow_bytes, const spool* disk = nullptr);

/// Everything in the host's memory when these devices compute. Loads the selection and throws as
/// load_selection() does.
[[nodiscard]] std::vector<memory_use> memory_plan_of(const daemon_settings& s,
                                                     const found_devices& devices);

// Checks before any memory is touched whether the machine has what a configuration needs.

/// Returns an empty string if the daemon's memory plan fits; else a sentence with
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
