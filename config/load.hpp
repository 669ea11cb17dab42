// SPDX-License-Identifier: Apache-2.0
// Reads a configuration file into the plain settings structs of the rooms. It collects all
// mistakes: unknown keys (with the nearest name), wrong types, values out of range, and conflicting
// settings.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "config/toml/complaints.hpp"

namespace l3 {

/// The place where each key was set; absent keys have their default.
using config_origins = std::map<std::string, source_place, std::less<>>;

struct loaded_config {
  daemon_settings settings; ///< meaningful only without errors
  config_origins origins;
  std::vector<complaint> errors;

  [[nodiscard]] bool ok() const { return errors.empty(); }
};

[[nodiscard]] loaded_config load_config(const std::string& file);

/// Reads from text; `file` is the name for messages.
[[nodiscard]] loaded_config read_config(std::string_view toml, const std::string& file);

/// Several settings that violate a rule, although each is within its range.
struct conflict {
  std::vector<std::string_view> paths; ///< the conflicting keys
  std::string text;
};

[[nodiscard]] std::vector<conflict> conflicts_in(const daemon_settings& s);

// Texts from the key descriptions: the effective configuration, the default configuration file, and
// the reference page.

/// Every key with its effective value, as TOML that loads to the same settings. A comment gives the
/// source of each value.
[[nodiscard]] std::string print_config(const daemon_settings& settings,
                                       const config_origins& origins);

/// deploy/l3.toml: every key with its text and its default, commented out.
[[nodiscard]] std::string default_config_file();

/// docs/configuration.md.
[[nodiscard]] std::string reference_page();

} // namespace l3
