// SPDX-License-Identifier: Apache-2.0
// Reads a configuration file once into the plain settings structs that the rooms declare. All
// mistakes are collected: unknown keys (with the nearest name), wrong types, values out of range,
// settings that do not go together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "config/toml/complaints.hpp"

namespace l3 {

/// Where each setting comes from, by key path; keys that are absent have their default.
using config_origins = std::map<std::string, source_place, std::less<>>;

struct loaded_config {
  daemon_settings settings; ///< meaningful only without errors
  config_origins origins;
  std::vector<complaint> errors;

  [[nodiscard]] bool ok() const { return errors.empty(); }
};

[[nodiscard]] loaded_config load_config(const std::string& file);

/// The same from text; `file` is the name that messages give.
[[nodiscard]] loaded_config read_config(std::string_view toml, const std::string& file);

/// A rule between several settings, beyond the range of each, that does not hold.
struct conflict {
  std::vector<std::string_view> paths; ///< the keys that contradict each other
  std::string text;
};

[[nodiscard]] std::vector<conflict> conflicts_in(const daemon_settings& s);

} // namespace l3
