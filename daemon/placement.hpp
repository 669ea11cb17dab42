// SPDX-License-Identifier: Apache-2.0
// Where the daemon's threads run and from which NUMA node its memory comes (node.processors). The
// threads of input and output belong near the network card. Compute and drain threads run near
// their device, which selection/engine finds.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "config/settings.hpp"
#include "gpu/memory/numa.hpp"
#include "transport/system/network_cards.hpp"

namespace l3 {

using find_interfaces = std::function<std::set<std::string>(const std::string& bind)>;

/// Places this thread, and threads that it starts, and their memory; writes the processors for
/// input and output into the settings. Only processors on which this thread may run now are used.
/// Returns a sentence for the operator. Throws std::runtime_error if this thread may run on none of
/// node.processors.
[[nodiscard]] std::string place_threads(daemon_settings& s,
                                        const numa_topology& machine = numa_topology(),
                                        const find_interfaces& interfaces = interfaces_of);

} // namespace l3
