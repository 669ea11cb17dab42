// SPDX-License-Identifier: Apache-2.0
// Why no run can begin on this node now, a sentence each: the receiver is absent, a crate is silent
// while others send, a disk is short, something else has the name of the spool's folder, the menu
// has mistakes or needs more memory than there is.
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

/// Those of these reasons that do not come from a menu.
[[nodiscard]] std::vector<std::string> reasons_against_node(const daemon_settings& settings,
                                                            const metrics_snapshot& s,
                                                            const run_host& host);

/// A mistake in one of the files of a selection, with what that file is; `menu` is its menu's name.
[[nodiscard]] std::string reason_in(const complaint& c, const selection_files& files,
                                    std::string_view menu);

/// Those that come from the menu of the order, or from its shadow menu.
[[nodiscard]] std::vector<std::string>
reasons_against_menu(const run_order& order, const daemon_settings& settings, const run_host& host);

} // namespace l3
