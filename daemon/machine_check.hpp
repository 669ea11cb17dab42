// SPDX-License-Identifier: Apache-2.0
// Whether the machine has what a configuration asks for, before any memory is touched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
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

} // namespace l3
