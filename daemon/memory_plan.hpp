// SPDX-License-Identifier: Apache-2.0
// The memory that a daemon will allocate, from its settings alone. A node prints this plan, and
// machine_check compares it with the machine before memory is touched. Both add up the same
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"

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

} // namespace l3
