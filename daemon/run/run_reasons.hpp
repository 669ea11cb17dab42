// SPDX-License-Identifier: Apache-2.0
// Reasons why no run can begin on this node now, one sentence each: the receiver is absent, a crate
// is silent while others send, a disk lacks room, the path of the spool folder is no folder, the
// menu has mistakes or needs too much memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "config/toml/complaints.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/run_host.hpp"

namespace l3 {

/// `s`: the newest snapshot. Looks up a name and opens a connection, for two seconds at most.
[[nodiscard]] std::vector<std::string> reasons_against(const run_order& order,
                                                       const daemon_settings& settings,
                                                       const metrics_snapshot& s,
                                                       const run_host& host);

/// The reasons that do not come from a menu.
[[nodiscard]] std::vector<std::string> reasons_against_node(const daemon_settings& settings,
                                                            const metrics_snapshot& s,
                                                            const run_host& host);

/// A mistake in a file of a selection, with that file's role; `menu` is the menu's name.
[[nodiscard]] std::string reason_in(const complaint& c, const selection_files& files,
                                    std::string_view menu);

/// The reasons that come from the order's menu or from its shadow menu.
[[nodiscard]] std::vector<std::string>
reasons_against_menu(const run_order& order, const daemon_settings& settings, const run_host& host);

} // namespace l3
