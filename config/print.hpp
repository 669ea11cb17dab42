// SPDX-License-Identifier: Apache-2.0
// Texts from the key descriptions: the effective configuration, the default configuration file, and
// the reference page.
#pragma once

#include <string>

#include "config/load.hpp"

namespace l3 {

/// Every key with its effective value, as TOML that loads to the same settings. A comment gives the
/// source of each value.
[[nodiscard]] std::string print_config(const daemon_settings& settings,
                                       const config_origins& origins);

/// deploy/l3.toml: every key with its text and its default, commented out.
[[nodiscard]] std::string default_config_file();

/// docs/configuration.md.
[[nodiscard]] std::string reference_page();

} // namespace l3
