// SPDX-License-Identifier: Apache-2.0
// What a daemon allocates, from its settings alone: a node prints this plan, and machine_check
// holds it against the machine before anything is touched. Both add up the same functions.
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
/// Empty if outbox.memory holds two events of the readout; else a sentence.
[[nodiscard]] std::string wrong_with_outbox(const daemon_settings& s);

/// What decides, as it goes into the stream. Throws std::runtime_error if no store has room for it.
[[nodiscard]] std::vector<std::byte> decided_by(const daemon_settings& s,
                                                const std::optional<loaded_selection>& selection);

/// Inputs that histograms are made of; 0: none are made.
[[nodiscard]] std::size_t histogram_inputs(const daemon_settings& s,
                                           const std::optional<loaded_selection>& selection);

/// All but the engines; `shadow_bytes`: of the shadow menu's, if there is one. `disk`: what lies
/// there may need more than the settings say; null: it is not known yet.
[[nodiscard]] std::vector<memory_use>
memory_beside_engines(const daemon_settings& s, const std::optional<loaded_selection>& selection,
                      std::optional<std::size_t> shadow_bytes, const spool* disk = nullptr);

/// All that lies in the memory of the machine, where these devices compute. Loads the selection;
/// throws as that does.
[[nodiscard]] std::vector<memory_use> memory_plan_of(const daemon_settings& s,
                                                     const found_devices& devices);

} // namespace l3
